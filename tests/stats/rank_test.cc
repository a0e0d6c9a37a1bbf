#include "research/stats/rank_test.h"

#include <gtest/gtest.h>

#include "broadloom/core/random.h"
#include "research/stats/scores.h"
#include "research/stats/statistics.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

constexpr BootstrapOptions kOptions{5000, 1, 1};

TEST(RankTest, TwoSeparateGroupsHaveTheCountedChance) {
  // There are 20 ways to deal six numbers to two threes; 2 are as far apart.
  EXPECT_NEAR(rank_test({{1, 2, 3}, {4, 5, 6}}, kOptions), 0.1, 0.02);
  EXPECT_NEAR(rank_test({{4, 5, 6}, {1, 2, 3}}, kOptions), 0.1, 0.02);
  // Only the order counts.
  EXPECT_EQ(rank_test({{1, 2, 3}, {4, 5, 6}}, kOptions),
            rank_test({{-9, 0, 3}, {4, 5, 1e9}}, kOptions));
}

TEST(RankTest, EqualNumbersHaveChanceOne) {
  EXPECT_EQ(rank_test({{5, 5, 5}, {5, 5}, {5, 5, 5}}, kOptions), 1.0);
}

TEST(RankTest, ThreeSeparateGroupsAreHardlyChance) {
  const double chance =
      rank_test({{1, 2, 3, 4, 5}, {11, 12, 13, 14, 15}, {21, 22, 23, 24, 25}}, kOptions);
  EXPECT_LT(chance, 0.001);
  EXPECT_GE(chance, 1.0 / 5001.0);  // never zero
}

TEST(RankTest, EqualGroupsAreCalledInOneOfTwentyCases) {
  int called = 0;
  constexpr int kTimes = 400;
  for (int t = 0; t < kTimes; ++t) {
    Random random(7, Purpose::kUser, 0, static_cast<std::uint64_t>(t));
    std::vector<std::vector<double>> groups(5, std::vector<double>(6));
    for (auto& group : groups) {
      for (double& x : group) x = random.below(1000000);
    }
    called += rank_test(groups, {200, 1, 1}) <= 0.05 ? 1 : 0;
  }
  EXPECT_GE(called, kTimes / 50);       // 2 %
  EXPECT_LE(called, 9 * kTimes / 100);  // 9 %
}

// This is why all arms of a line are tested together, instead of each with the highest one, which
// is chosen for being high. docs/statistics.md has these shares.
TEST(RankTest, ComparisonsWithTheHighestCallEqualArmsFarMoreOften) {
  RELEASE_ONLY("repeats until an interval is narrow");
  constexpr int kTimes = 200, kArms = 5, kRuns = 10;
  int called = 0, called_together = 0;
  for (int t = 0; t < kTimes; ++t) {
    Random random(11, Purpose::kUser, 1, static_cast<std::uint64_t>(t));
    std::vector<std::vector<double>> arms(kArms, std::vector<double>(kRuns));
    std::size_t highest = 0;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      for (double& x : arms[a]) x = random.below(1000000);
      if (interquartile_mean(arms[a]) > interquartile_mean(arms[highest])) highest = a;
    }
    bool lower = false;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      const auto p = probability_of_improvement(make_scores({arms[highest]}).value(),
                                                make_scores({arms[a]}).value(), {300, 1, 1});
      lower = lower || (a != highest && p.value().low > 0.5);
    }
    called += lower ? 1 : 0;
    called_together += lower && rank_test(arms, {300, 1, 1}) <= 0.05 ? 1 : 0;
  }
  RecordProperty("called", called);
  RecordProperty("called_together", called_together);
  EXPECT_GE(called, kTimes / 5);                 // 20 %
  EXPECT_LE(called_together, kTimes * 9 / 100);  // 9 %
}

TEST(RankTest, TheSameSeedGivesTheSameBits) {
  const std::vector<std::vector<double>> groups = {{3, 1, 4}, {1, 5, 9}, {2, 6, 5}};
  EXPECT_EQ(rank_test(groups, kOptions), rank_test(groups, kOptions));
}

}  // namespace
}  // namespace broadloom
