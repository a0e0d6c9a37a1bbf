// sanitizers: address, threads
#include "research/stats/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <vector>

#include "broadloom/core/random.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

Scores random_scores(int runs, int tasks, std::uint64_t seed) {
  Random random(seed, Purpose::kUser, 0, 0);
  Scores scores{runs, tasks, {}};
  for (int i = 0; i < runs * tasks; ++i) scores.values.push_back(0.4 + 0.5 * random.normal());
  return scores;
}

bool same(const Estimate& a, const Estimate& b) {
  return a.value == b.value && a.low == b.low && a.high == b.high && a.count == b.count;
}

TEST(Scores, AreMadeTaskByTask) {
  const Result<Scores> scores = make_scores({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  ASSERT_TRUE(scores.ok());
  EXPECT_EQ(scores.value().runs, 3);
  EXPECT_EQ(scores.value().tasks, 2);
  EXPECT_EQ(scores.value().values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(scores.value().at(2, 0), 3.0);
}

TEST(Scores, ErrorsNameTheTaskOrRun) {
  const Status lengths = make_scores({{1.0, 2.0}, {3.0}}).status();
  EXPECT_EQ(lengths.kind(), ErrorKind::kMismatch);
  EXPECT_NE(lengths.message().find("task 1 has 1 runs"), std::string::npos);
  EXPECT_EQ(make_scores({}).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(make_scores({{}}).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(check_scores({2, 2, {1.0, 2.0, 3.0}}).kind(), ErrorKind::kMismatch);
  const Status nan =
      make_scores({{1.0, std::numeric_limits<double>::quiet_NaN()}, {3.0, 4.0}}).status();
  EXPECT_EQ(nan.kind(), ErrorKind::kNumeric);
  EXPECT_NE(nan.message().find("run 1 on task 0"), std::string::npos);
}

TEST(Scores, AreNormalisedByTheirEnvironment) {
  EnvSpec spec;
  spec.id = "Some-v0";
  EXPECT_EQ(normalised_score(spec, 1.0).status().kind(), ErrorKind::kInvalidConfig);
  spec.has_score_range = true;
  spec.random_score = -200.0;
  spec.reference_score = -100.0;
  EXPECT_EQ(normalised_score(spec, -200.0).value(), 0.0);
  EXPECT_EQ(normalised_score(spec, -100.0).value(), 1.0);
  EXPECT_EQ(normalised_score(spec, -50.0).value(), 1.5);
  EnvSpec other = spec;
  other.random_score = 0.0;
  other.reference_score = 10.0;
  const Result<Scores> scores = normalised({2, 2, {-150.0, 5.0, -200.0, 20.0}}, {spec, other});
  ASSERT_TRUE(scores.ok());
  EXPECT_EQ(scores.value().values, (std::vector<double>{0.5, 0.5, 0.0, 2.0}));
  EXPECT_EQ(normalised({1, 2, {1.0, 2.0}}, {spec}).status().kind(), ErrorKind::kMismatch);
}

// From 0 ... 9, floor(10 / 4) = 2 are dropped at either end: the mean of 2 ... 7 is 4.5. Task 0 has
// the even numbers (mean 4) and task 1 the odd ones (mean 5).
TEST(Aggregates, EqualACaseByHand) {
  const Scores scores = make_scores({{8, 0, 4, 2, 6}, {3, 9, 7, 1, 5}}).take();
  const Aggregates all = aggregate(scores, {.replicates = 100}).take();
  EXPECT_DOUBLE_EQ(all.iqm.value, 4.5);
  EXPECT_DOUBLE_EQ(all.mean.value, 4.5);
  EXPECT_DOUBLE_EQ(all.median.value, 4.5);
  EXPECT_DOUBLE_EQ(all.optimality_gap.value, 0.1);  // only 0 is below 1
  EXPECT_EQ(all.iqm.count, 10);
}

TEST(Aggregates, DropNothingFromThreeScoresAndOneAtEachEndFromFour) {
  const auto iqm = [](const std::vector<double>& runs) {
    return aggregate(make_scores({runs}).take(), {.replicates = 1}).value().iqm.value;
  };
  EXPECT_DOUBLE_EQ(iqm({5.0}), 5.0);
  EXPECT_DOUBLE_EQ(iqm({1.0, 100.0}), 50.5);
  EXPECT_DOUBLE_EQ(iqm({1.0, 2.0, 6.0}), 3.0);
  EXPECT_DOUBLE_EQ(iqm({-1000.0, 3.0, 1.0, 1000.0}), 2.0);
  EXPECT_DOUBLE_EQ(iqm({2.0, 2.0, 2.0, 7.0}), 2.0);
}

TEST(Aggregates, TheMedianIsOfTheTasksMeans) {
  const Scores scores = make_scores({{0, 2}, {10, 30}, {4, 4}}).take();
  EXPECT_DOUBLE_EQ(aggregate(scores, {.replicates = 1}).value().median.value, 4.0);
}

TEST(Aggregates, HaveNoIntervalForOneRun) {
  const Aggregates all = aggregate({1, 3, {0.1, 0.2, 0.6}}).take();
  EXPECT_DOUBLE_EQ(all.iqm.value, 0.3);
  EXPECT_TRUE(std::isnan(all.iqm.low));
  EXPECT_TRUE(std::isnan(all.optimality_gap.high));
}

TEST(Aggregates, RefuseBadOptions) {
  const Scores scores = random_scores(3, 2, 1);
  EXPECT_EQ(aggregate(scores, {.replicates = 0}).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(aggregate(scores, {.threads = 0}).status().kind(), ErrorKind::kInvalidConfig);
}

// With two runs of one task, a replicate's mean is low, middle or high with probabilities 1/4, 1/2
// and 1/4, so the 95 % interval reaches from low to high.
TEST(Bootstrap, TwoRunsHaveTheRangeAsInterval) {
  const Estimate mean = aggregate({2, 1, {0.0, 1.0}}).value().mean;
  EXPECT_EQ(mean.low, 0.0);
  EXPECT_EQ(mean.high, 1.0);
}

// A replicate's mean of n runs has standard deviation s / sqrt(n): for many runs the percentile
// interval is the normal one.
TEST(Bootstrap, ManyRunsHaveTheNormalInterval) {
  RELEASE_ONLY("repeats until an interval is narrow");
  const Scores scores = random_scores(400, 1, 3);
  const Estimate mean = aggregate(scores).value().mean;
  double squares = 0.0;
  for (const double x : scores.values) squares += (x - mean.value) * (x - mean.value);
  const double half = 1.959964 * std::sqrt(squares) / 400.0;
  EXPECT_NEAR(mean.high - mean.value, half, 0.04 * half);
  EXPECT_NEAR(mean.value - mean.low, half, 0.04 * half);
}

// Runs are drawn within each task. If they were drawn across tasks, the mean of two tasks with
// equal runs would vary.
TEST(Bootstrap, KeepsTheTasksApart) {
  const Aggregates all = aggregate({3, 2, {0, 10, 0, 10, 0, 10}}, {.replicates = 500}).take();
  EXPECT_EQ(all.mean.low, 5.0);
  EXPECT_EQ(all.mean.high, 5.0);
}

TEST(Bootstrap, DependsOnTheSeedAndNotOnThreads) {
  const Scores x = random_scores(7, 3, 5), y = random_scores(5, 3, 6);
  const BootstrapOptions one{.replicates = 3001, .seed = 9};
  const Aggregates first = aggregate(x, one).take();
  const Estimate better = probability_of_improvement(x, y, one).take();
  for (const int threads : {1, 2, 5}) {
    const BootstrapOptions many{.replicates = 3001, .seed = 9, .threads = threads};
    const Aggregates again = aggregate(x, many).take();
    EXPECT_TRUE(same(first.iqm, again.iqm)) << threads;
    EXPECT_TRUE(same(first.median, again.median)) << threads;
    EXPECT_TRUE(same(first.mean, again.mean)) << threads;
    EXPECT_TRUE(same(first.optimality_gap, again.optimality_gap)) << threads;
    EXPECT_TRUE(same(better, probability_of_improvement(x, y, many).value())) << threads;
  }
  EXPECT_FALSE(same(first.iqm, aggregate(x, {.replicates = 3001, .seed = 10}).value().iqm));
}

TEST(Bootstrap, QuantilesInterpolate) {
  std::vector<double> values{4.0, 1.0, 3.0, 2.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.3);
  std::vector<double> single{7.0};
  EXPECT_EQ(quantile(single, 0.975), 7.0);
}

// x = 1, 3 and y = 2, 3: of four pairs x wins one (3 > 2) and ties one, so 1.5 / 4.
TEST(ProbabilityOfImprovement, CountsTiesHalf) {
  const Scores x = make_scores({{1, 3}}).take(), y = make_scores({{2, 3}}).take();
  const Estimate p = probability_of_improvement(x, y, {.replicates = 10}).take();
  EXPECT_DOUBLE_EQ(p.value, 0.375);
  EXPECT_EQ(p.count, 4);
  EXPECT_DOUBLE_EQ(probability_of_improvement(y, x, {.replicates = 10}).value().value, 0.625);
}

TEST(ProbabilityOfImprovement, IsAveragedOverTasksOfUnequalRuns) {
  const Scores x = make_scores({{1, 2, 3}, {5, 5, 5}}).take();
  const Scores y = make_scores({{0, 0}, {5, 5}}).take();
  const Estimate p = probability_of_improvement(x, y, {.replicates = 200}).take();
  EXPECT_DOUBLE_EQ(p.value, 0.75);  // certain on task 0, all ties on task 1
  EXPECT_DOUBLE_EQ(p.low, 0.75);
  EXPECT_DOUBLE_EQ(p.high, 0.75);
}

TEST(ProbabilityOfImprovement, DrawsBothSidesIndependently) {
  const Scores x = random_scores(6, 2, 8);
  const Estimate p = probability_of_improvement(x, x, {.replicates = 2000}).take();
  EXPECT_DOUBLE_EQ(p.value, 0.5);
  EXPECT_LT(p.low, 0.45);  // equal draws on both sides would always give 1/2
  EXPECT_GT(p.high, 0.55);
}

TEST(ProbabilityOfImprovement, NeedsTheSameTasks) {
  const Status status =
      probability_of_improvement(random_scores(2, 2, 1), random_scores(2, 3, 1)).status();
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  const Estimate p =
      probability_of_improvement(random_scores(1, 2, 1), random_scores(4, 2, 1)).take();
  EXPECT_TRUE(std::isnan(p.low));
}

// A plain bootstrap for comparison, with the same draws: replicates are sorted, without ranks and
// counts.
TEST(Aggregates, CountingEqualsSorting) {
  for (const auto& [runs, tasks] : std::vector<std::pair<int, int>>{{2, 1}, {5, 3}, {9, 2}}) {
    const Scores scores = random_scores(runs, tasks, 40 + static_cast<std::uint64_t>(runs));
    const BootstrapOptions options{.replicates = 400, .seed = 2};
    std::vector<double> iqms;
    std::vector<std::uint32_t> chosen;
    for (int r = 0; r < options.replicates; ++r) {
      draw_runs(options, 0, r, runs, tasks, chosen);
      std::vector<double> drawn;
      for (int i = 0; i < runs * tasks; ++i) {
        drawn.push_back(scores.at(static_cast<int>(chosen[i]), i / runs));
      }
      std::sort(drawn.begin(), drawn.end());
      const std::size_t cut = drawn.size() / 4;
      double sum = 0.0;
      for (std::size_t i = cut; i < drawn.size() - cut; ++i) sum += drawn[i];
      iqms.push_back(sum / static_cast<double>(drawn.size() - 2 * cut));
    }
    const Estimate iqm = aggregate(scores, options).value().iqm;
    EXPECT_NEAR(iqm.low, quantile(iqms, 0.025), 1e-13);
    EXPECT_NEAR(iqm.high, quantile(iqms, 0.975), 1e-13);
  }
}

#ifdef NDEBUG
constexpr double kSecondsAllowed = 1.0;
#else  // checked and instrumented builds
constexpr double kSecondsAllowed = 30.0;
#endif

// 50,000 replicates of all four aggregates of 20 runs on 3 tasks, on one core. It took 0.04 s on
// the author's machine.
TEST(Aggregates, TakeWellUnderASecond) {
  const Scores scores = random_scores(20, 3, 1);
  const std::clock_t start = std::clock();
  ASSERT_TRUE(aggregate(scores).ok());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("50,000 replicates: %.1f ms\n", 1e3 * seconds);
  EXPECT_LT(seconds, kSecondsAllowed);
}

}  // namespace
}  // namespace broadloom
