#include "research/stats/pair_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "broadloom/core/random.h"
#include "research/stats/rank_test.h"
#include "research/stats/statistics.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

constexpr BootstrapOptions kTwoThousand{2000, 1, 1};

Scores one_task(const std::vector<double>& runs) { return make_scores({runs}).value(); }

TEST(PairTest, CountsDealsThatAreAsFarApart) {
  // There are 20 ways to deal six numbers to two threes; 2 are as far apart here, 4 in the next
  // case.
  EXPECT_DOUBLE_EQ(pair_test(one_task({1, 2, 3}), one_task({4, 5, 6}), kTwoThousand), 2.0 / 20);
  EXPECT_DOUBLE_EQ(pair_test(one_task({4, 5, 6}), one_task({1, 2, 3}), kTwoThousand), 2.0 / 20);
  EXPECT_DOUBLE_EQ(pair_test(one_task({1, 2, 4}), one_task({3, 5, 6}), kTwoThousand), 4.0 / 20);
  // With one run against three, the first is the lowest or the highest of four.
  EXPECT_DOUBLE_EQ(pair_test(one_task({9}), one_task({1, 2, 3}), kTwoThousand), 2.0 / 4);
  EXPECT_DOUBLE_EQ(pair_test(one_task({1, 2, 3}), one_task({9}), kTwoThousand), 2.0 / 4);
  // Ties: both 5s on one side (1 deal of 6), or on the other.
  EXPECT_DOUBLE_EQ(pair_test(one_task({5, 5}), one_task({7, 7}), kTwoThousand), 2.0 / 6);
  EXPECT_DOUBLE_EQ(pair_test(one_task({5, 5}), one_task({5, 5}), kTwoThousand), 1.0);
}

TEST(PairTest, TasksAreDealtSeparately) {
  // Two against two: one deal in six for each task; all three tasks agree in 1 of 216 deals.
  const Scores low = make_scores({{1, 2}, {1, 2}, {1, 2}}).value();
  const Scores high = make_scores({{3, 4}, {30, 40}, {3, 4}}).value();
  EXPECT_DOUBLE_EQ(pair_test(low, high, kTwoThousand), 2.0 / 216);
  // Opposite effects cancel.
  const Scores opposite = make_scores({{3, 4}, {1, 2}, {1, 2}}).value();
  EXPECT_GT(pair_test(opposite, make_scores({{1, 2}, {3, 4}, {3, 4}}).value(), kTwoThousand), 0.3);
}

std::vector<double> numbers(std::uint64_t index, int count, double shift) {
  Random random(5, Purpose::kUser, 0, index);
  std::vector<double> all(static_cast<std::size_t>(count));
  for (double& x : all) x = random.uniform() + shift;
  return all;
}

TEST(PairTest, ManyRunsAreSampledInsteadOfCounted) {
  // 200 against 200 are too many to count. Wilcoxon's normal approximation gives 0.50 and 0.0018.
  const auto chance = [](double shift, int replicates) {
    return pair_test(one_task(numbers(0, 200, 0.0)), one_task(numbers(1, 200, shift)),
                     {replicates, 1, 1});
  };
  const double alike = chance(0.0, 2000), apart = chance(1.0, 2000);
  EXPECT_GT(alike, 0.05);
  EXPECT_EQ(apart, 1.0 / 2001) << "never zero";
  EXPECT_EQ(chance(0.0, 2000), alike) << "the same seed, the same bits";
}

TEST(PairTest, CountingAndSamplingAgree) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::vector<double> x = numbers(2 * i, 9, 0.0), y = numbers(2 * i + 1, 7, 0.2);
    const double counted = pair_test(one_task(x), one_task(y), kTwoThousand);
    std::vector<double> all = x;
    all.insert(all.end(), y.begin(), y.end());
    int as_far = 0;
    constexpr int kDeals = 20000;
    const auto wins = [](const std::vector<double>& a) {
      int won = 0;
      for (std::size_t j = 0; j < 9; ++j) {
        for (std::size_t k = 9; k < a.size(); ++k) won += a[j] > a[k] ? 1 : 0;
      }
      return std::abs(2 * won - 9 * 7);
    };
    const int found = wins(all);
    for (int r = 0; r < kDeals; ++r) {
      Random random(9, Purpose::kUser, 1, static_cast<std::uint64_t>(r));
      for (std::size_t j = all.size() - 1; j > 0; --j) {
        std::swap(all[j], all[random.below(static_cast<std::uint32_t>(j + 1))]);
      }
      as_far += wins(all) >= found ? 1 : 0;
    }
    EXPECT_NEAR(counted, static_cast<double>(as_far) / kDeals, 0.02) << i;
    EXPECT_EQ(rank_test({x, y}, kTwoThousand), counted) << "of two groups it is the pair test";
  }
}

TEST(CanTell, TakesFourRunsOfEachOnOneTask) {
  EXPECT_FALSE(can_tell(3, 3, 1));  // 2 in 20
  EXPECT_TRUE(can_tell(4, 4, 1));   // 2 in 70
  EXPECT_FALSE(can_tell(1, 38, 1));
  EXPECT_TRUE(can_tell(1, 39, 1));
  EXPECT_TRUE(can_tell(3, 3, 2));  // 2 in 400
  EXPECT_FALSE(can_tell(1, 1, 5));
}

// The share of all deals of ranks to two equal sides that are called different, with and without
// the pair test.
struct Calls {
  int by_interval = 0, called = 0, all = 0;
  double rate() const { return static_cast<double>(called) / all; }
  double interval_rate() const { return static_cast<double>(by_interval) / all; }
};

void count(const Scores& x, const Scores& y, Calls& calls) {
  const Estimate p = probability_of_improvement(x, y, kTwoThousand).value();
  ++calls.all;
  calls.by_interval += can_tell(x.runs, y.runs, x.tasks) && !p.holds(0.5) ? 1 : 0;
  calls.called += better_of(p, x, y, kTwoThousand) != 0 ? 1 : 0;
}

// All ways to deal the ranks of one task to `runs` and the others, on `tasks` tasks.
Calls all_deals(int runs, int others, int tasks) {
  std::vector<int> side(static_cast<std::size_t>(runs + others), 1);
  std::fill(side.begin(), side.begin() + runs, 0);
  std::vector<std::pair<std::vector<double>, std::vector<double>>> deals;
  do {
    std::pair<std::vector<double>, std::vector<double>> deal;
    for (std::size_t i = 0; i < side.size(); ++i) {
      (side[i] == 0 ? deal.first : deal.second).push_back(static_cast<double>(i));
    }
    deals.push_back(deal);
  } while (std::next_permutation(side.begin(), side.end()));
  Calls calls;
  std::vector<std::vector<double>> x, y;
  const std::function<void()> go_on = [&] {
    if (static_cast<int>(x.size()) == tasks) {
      count(make_scores(x).value(), make_scores(y).value(), calls);
      return;
    }
    for (const auto& [one, other] : deals) {
      x.push_back(one);
      y.push_back(other);
      go_on();
      x.pop_back();
      y.pop_back();
    }
  };
  go_on();
  return calls;
}

TEST(BetterOf, CallsEqualSidesDifferentInAtMostFiveOfAHundredCases) {
  RELEASE_ONLY("repeats until an interval is narrow");
  const Calls fives = all_deals(5, 5, 1), threes = all_deals(3, 6, 1), pairs = all_deals(2, 2, 3);
  ASSERT_EQ(fives.all, 252);
  ASSERT_EQ(pairs.all, 216);
  for (const Calls& calls : {fives, threes, pairs}) {
    EXPECT_LE(calls.rate(), 0.05);
    EXPECT_GT(calls.called, 0) << "what is far apart is called";
    EXPECT_GT(calls.interval_rate(), 0.07) << "the interval alone calls too much";
  }
}

TEST(BetterOf, NamesTheBetterSide) {
  const Scores low = one_task({1, 2, 3, 4}), high = one_task({5, 6, 7, 8});
  const auto better = [](const Scores& x, const Scores& y) {
    return better_of(probability_of_improvement(x, y, kTwoThousand).value(), x, y, kTwoThousand);
  };
  EXPECT_EQ(better(high, low), 1);
  EXPECT_EQ(better(low, high), -1);
  EXPECT_EQ(better(low, low), 0);
  EXPECT_EQ(better(one_task({5, 6, 7}), one_task({1, 2, 3})), 0) << "too few";
}

}  // namespace
}  // namespace broadloom
