#include "research/stats/sample_efficiency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "research/stats/statistics.h"

namespace broadloom {
namespace {

// Two runs of one task: a line from 0 to 10 in 100 steps, and a jump from 0 to 4 at steps 50 to 60.
RunCurves two_runs() {
  RunCurves curves{2, 1, {}};
  curves.curves.push_back({{0.0, 100.0}, {0.0, 10.0}});
  curves.curves.push_back({{0.0, 50.0, 60.0, 120.0}, {0.0, 0.0, 4.0, 4.0}});
  return curves;
}

TEST(SampleEfficiency, TheGridHasTheStepsOfAllRuns) {
  EXPECT_EQ(common_steps(two_runs(), 5).value(),
            (std::vector<double>{0.0, 25.0, 50.0, 75.0, 100.0}));
  RunCurves later = two_runs();
  later.curves[1].steps[0] = 20.0;
  EXPECT_EQ(common_steps(later, 2).value(), (std::vector<double>{20.0, 100.0}));
  later.curves[1].steps = {200.0, 210.0, 220.0, 230.0};
  EXPECT_EQ(common_steps(later, 2).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(common_steps(two_runs(), 1).status().kind(), ErrorKind::kInvalidConfig);
}

TEST(SampleEfficiency, ScoresAreInterpolatedAndNotExtrapolated) {
  EXPECT_EQ(scores_at(two_runs(), 55.0).value().values, (std::vector<double>{5.5, 2.0}));
  EXPECT_EQ(scores_at(two_runs(), 0.0).value().values, (std::vector<double>{0.0, 0.0}));
  EXPECT_EQ(scores_at(two_runs(), 100.0).value().values, (std::vector<double>{10.0, 4.0}));
  const Status far = scores_at(two_runs(), 110.0).status();
  EXPECT_EQ(far.kind(), ErrorKind::kMismatch);
  EXPECT_NE(far.message().find("run 0 on task 0"), std::string::npos);
}

// Areas over 0 to 100: 500 and 20 + 160; over 55 to 60: 28.75 and 15.
TEST(SampleEfficiency, AreasFollowTheTrapezoidRule) {
  const Scores whole = areas_under(two_runs(), 0.0, 100.0).take();
  EXPECT_DOUBLE_EQ(whole.values[0], 5.0);
  EXPECT_DOUBLE_EQ(whole.values[1], 1.8);
  const Scores part = areas_under(two_runs(), 55.0, 60.0).take();
  EXPECT_DOUBLE_EQ(part.values[0], 5.75);
  EXPECT_DOUBLE_EQ(part.values[1], 3.0);
  EXPECT_EQ(areas_under(two_runs(), 60.0, 60.0).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(areas_under(two_runs(), 0.0, 110.0).status().kind(), ErrorKind::kMismatch);
}

// Intervals at a step equal those of the scores there: the draws do not depend on the grid.
TEST(SampleEfficiency, AgreesWithTheAggregateAtEachStep) {
  RunCurves curves{5, 2, {}};
  for (int i = 0; i < 10; ++i) {
    curves.curves.push_back({{0.0, 10.0, 30.0}, {0.1 * i, 0.3 * (i % 4), 1.0 + 0.2 * (i % 3)}});
  }
  const BootstrapOptions options{.replicates = 900, .seed = 4, .threads = 2};
  const EfficiencyCurve curve =
      sample_efficiency(curves, common_steps(curves, 7).value(), options).take();
  ASSERT_EQ(curve.iqm.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    const Estimate iqm =
        aggregate(scores_at(curves, curve.steps[i]).value(), {.replicates = 900, .seed = 4})
            .value()
            .iqm;
    EXPECT_EQ(curve.iqm[i].value, iqm.value);
    EXPECT_EQ(curve.iqm[i].low, iqm.low);
    EXPECT_EQ(curve.iqm[i].high, iqm.high);
    EXPECT_EQ(curve.iqm[i].count, 10);
  }
}

TEST(SampleEfficiency, HasNoIntervalForOneRun) {
  RunCurves curves = two_runs();
  curves.runs = 1;
  curves.tasks = 2;
  const EfficiencyCurve curve = sample_efficiency(curves, {100.0}).take();
  EXPECT_EQ(curve.iqm[0].value, 7.0);
  EXPECT_TRUE(std::isnan(curve.iqm[0].low));
}

TEST(SampleEfficiency, ReturnsAreNormalisedByTask) {
  EnvSpec spec;
  spec.has_score_range = true;
  spec.random_score = 2.0;
  spec.reference_score = 6.0;
  const RunCurves curves = normalised(two_runs(), {spec}).take();
  EXPECT_EQ(curves.curves[1].returns, (std::vector<double>{-0.5, -0.5, 0.5, 0.5}));
  EXPECT_EQ(normalised(two_runs(), {spec, spec}).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(normalised(two_runs(), {EnvSpec{}}).status().kind(), ErrorKind::kInvalidConfig);
}

TEST(SampleEfficiency, RefusesBadCurves) {
  const auto kind_with = [](const Curve& curve) {
    RunCurves curves = two_runs();
    curves.curves[1] = curve;
    return check_curves(curves).kind();
  };
  EXPECT_EQ(kind_with({{}, {}}), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_with({{1.0}, {}}), ErrorKind::kMismatch);
  EXPECT_EQ(kind_with({{1.0, 1.0}, {0.0, 0.0}}), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_with({{1.0}, {std::numeric_limits<double>::infinity()}}), ErrorKind::kNumeric);
  EXPECT_EQ(check_curves({2, 2, two_runs().curves}).kind(), ErrorKind::kMismatch);
  EXPECT_EQ(check_curves({}).kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(sample_efficiency(two_runs(), {}).status().kind(), ErrorKind::kInvalidConfig);
}

}  // namespace
}  // namespace broadloom
