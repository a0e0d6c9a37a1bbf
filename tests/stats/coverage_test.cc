// How often intervals hold the truth, as in the table in docs/statistics.md.
// sanitizers: none (repeats until a share is known well)
#include <gtest/gtest.h>

#include <cstdint>

#include "broadloom/core/random.h"
#include "research/stats/statistics.h"

namespace broadloom {
namespace {

constexpr int kStudies = 1000;

Scores normal_scores(int runs, std::uint64_t study, std::uint32_t sample, int tasks = 3) {
  Random random(study, Purpose::kUser, sample, 0);
  Scores scores{runs, tasks, {}};
  for (int i = 0; i < tasks * runs; ++i) scores.values.push_back(0.4 + 0.5 * random.normal());
  return scores;
}

// Share of studies whose interval of the IQM holds the true one, which is 0.4 by symmetry.
double iqm_coverage(int runs, int tasks = 3) {
  int held = 0;
  for (std::uint64_t study = 0; study < kStudies; ++study) {
    const Scores scores = normal_scores(runs, study, 0, tasks);
    held += aggregate(scores, {.replicates = 1000}).value().iqm.holds(0.4) ? 1 : 0;
  }
  return static_cast<double>(held) / kStudies;
}

// Five standard errors of a share near 0.9 in 1,000 studies are 0.045.
TEST(Coverage, TheIqmsIsTooLowForThreeRunsAndNearlyRightForTwenty) {
  EXPECT_NEAR(iqm_coverage(3), 0.86, 0.045);
  EXPECT_NEAR(iqm_coverage(10), 0.93, 0.035);
  EXPECT_NEAR(iqm_coverage(20), 0.94, 0.035);
}

// These shares are in notes of reports: research/report/report_notes.cc.
TEST(Coverage, ASingleTasksIsWorse) {
  EXPECT_NEAR(iqm_coverage(2, 1), 0.50, 0.08);
  EXPECT_NEAR(iqm_coverage(3, 1), 0.75, 0.07);
  EXPECT_NEAR(iqm_coverage(4, 1), 0.88, 0.05);
}

// Two equal samples: each wins equally often.
TEST(Coverage, IsRightForTheProbabilityOfImprovement) {
  int held = 0;
  for (std::uint64_t study = 0; study < kStudies; ++study) {
    held += probability_of_improvement(normal_scores(10, study, 0), normal_scores(10, study, 1),
                                       {.replicates = 1000})
                .value()
                .holds(0.5);
  }
  EXPECT_NEAR(static_cast<double>(held) / kStudies, 0.95, 0.035);
}

}  // namespace
}  // namespace broadloom
