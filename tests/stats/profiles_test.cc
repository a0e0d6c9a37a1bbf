#include "research/stats/profiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace broadloom {
namespace {

Scores some_scores() { return make_scores({{0.1, 0.5, 0.5, 0.9}, {0.2, 0.4, 1.2, 1.4}}).take(); }

std::vector<double> values_of(const PerformanceProfile& profile) {
  std::vector<double> values;
  for (const Estimate& share : profile.shares) values.push_back(share.value);
  return values;
}

// A score equal to a threshold is not above it.
TEST(PerformanceProfile, CountsRunsStrictlyAbove) {
  const PerformanceProfile profile =
      performance_profile(some_scores(), {0.0, 0.1, 0.5, 1.0, 1.4}).take();
  EXPECT_EQ(values_of(profile), (std::vector<double>{1.0, 0.875, 0.375, 0.25, 0.0}));
  EXPECT_EQ(profile.thresholds.size(), 5u);
  EXPECT_EQ(profile.shares[0].count, 8);
}

// The tasks' means are 0.5 and 0.8.
TEST(PerformanceProfile, CountsMeansOfTasks) {
  const PerformanceProfile profile =
      performance_profile(some_scores(), {0.4, 0.5, 0.7, 0.9}, ProfileKind::kTaskMeans).take();
  EXPECT_EQ(values_of(profile), (std::vector<double>{1.0, 0.5, 0.5, 0.0}));
  EXPECT_EQ(profile.shares[0].count, 2);
}

// With one task of n runs, k of them above, a replicate's share is binomial: n draws with k / n.
TEST(PerformanceProfile, HasTheIntervalsOfABinomial) {
  std::vector<double> runs(100, 0.0);
  for (int i = 0; i < 30; ++i) runs[static_cast<std::size_t>(i)] = 1.0;
  const PerformanceProfile profile =
      performance_profile(make_scores({runs}).take(), {-0.5, 0.5, 1.5}).take();
  EXPECT_DOUBLE_EQ(profile.shares[1].value, 0.3);
  EXPECT_NEAR(profile.shares[1].low, 0.21, 0.0101);  // quantiles of B(100, 0.3): 21 and 39
  EXPECT_NEAR(profile.shares[1].high, 0.39, 0.0101);
  EXPECT_EQ(profile.shares[0].low, 1.0);
  EXPECT_EQ(profile.shares[2].high, 0.0);
}

TEST(PerformanceProfile, DoesNotDependOnThreads) {
  for (const ProfileKind kind : {ProfileKind::kRunScores, ProfileKind::kTaskMeans}) {
    const std::vector<double> thresholds{0.3, 0.6, 0.9};
    const PerformanceProfile one =
        performance_profile(some_scores(), thresholds, kind, {.replicates = 700}).take();
    const PerformanceProfile many =
        performance_profile(some_scores(), thresholds, kind, {.replicates = 700, .threads = 3})
            .take();
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      EXPECT_EQ(one.shares[i].low, many.shares[i].low);
      EXPECT_EQ(one.shares[i].high, many.shares[i].high);
    }
  }
}

TEST(PerformanceProfile, HasNoIntervalForOneRun) {
  const PerformanceProfile profile = performance_profile({1, 2, {0.2, 0.8}}, {0.5}).take();
  EXPECT_EQ(profile.shares[0].value, 0.5);
  EXPECT_TRUE(std::isnan(profile.shares[0].high));
}

TEST(PerformanceProfile, NeedsAscendingThresholds) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& thresholds :
       {std::vector<double>{}, std::vector<double>{0.5, 0.1}, std::vector<double>{nan}}) {
    EXPECT_EQ(performance_profile(some_scores(), thresholds).status().kind(),
              ErrorKind::kInvalidConfig);
  }
}

}  // namespace
}  // namespace broadloom
