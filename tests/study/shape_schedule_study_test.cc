// Studies that compare schedules of shapes with fixed shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "research/report/study_report.h"
#include "research/report/study_results.h"
#include "research/study/matching.h"
#include "tests/study/scene.h"

namespace broadloom {
namespace {

using ScheduleStudy = StudyTest;

constexpr char kScheduled[] =
    "[base]\ntotal_timesteps = 2000\nhidden_sizes = [8]\neval_episodes = 2\nnum_envs = 4\n"
    "num_steps = 16\n";
constexpr char kGrid[] =
    "[grid]\nshape_schedule = ['', '4x16 @ 0, 4x16 @ 0.5', '4x16 @ 0, 16x8 @ 0.5', "
    "'4x16 @ 0, 2x8 @ 0.25, 8x16 @ 0.5']\n";

std::string refusal_of(const std::string& text) {
  const Result<StudySpec> spec = parse_study(text, "study.toml");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return plan_study(spec.value()).status().message();
}

TEST_F(ScheduleStudy, PlansTheNumbersOfEachSchedule) {
  const StudyPlan plan = plan_text("seeds = 2\n" + std::string(kScheduled) + kGrid);
  ASSERT_EQ(plan.cells.size(), 4u);
  EXPECT_EQ(plan.cells[2].name, "shape_schedule=4x16 @ 0, 16x8 @ 0.5");
  EXPECT_EQ(plan.cells[0].config.num_iterations(), 31);
  EXPECT_EQ(plan.cells[2].config.num_iterations(), 16 + 7);  // 1,024 steps, then 7 x 128
  EXPECT_EQ(plan.cells[2].environment_steps(), 1920);
  EXPECT_EQ(plan.cells[2].smallest_minibatch(), 16);
  EXPECT_EQ(plan.cells[2].minibatch_size(), 32);
  EXPECT_EQ(gradient_steps(plan.cells[2].config), 23 * 4 * 4);
  EXPECT_EQ(plan.cells[2].samples_per_gradient(), 1920.0 / (23 * 16));
  EXPECT_EQ(plan.cells[2].batch_size(), 83);  // the mean, unlike any fixed size
  EXPECT_EQ(plan.cells[1].batch_size(), 64);
}

TEST_F(ScheduleStudy, MatchesThemWithTheFirst) {
  const std::string rest = std::string("seeds = 1\n") + kScheduled + kGrid;
  const StudyPlan sizes = plan_text("match = 'minibatch_size'\n" + rest);
  for (const StudyCell& cell : sizes.cells) EXPECT_LE(cell.minibatch_size(), 16) << cell.name;
  EXPECT_EQ(sizes.cells[2].config.of_phase(1).minibatch_count(), 8);
  for (const char* adjust : {"minibatches", "epochs"}) {
    const StudyPlan steps =
        plan_text("match = 'gradient_steps'\nadjust = '" + std::string(adjust) + "'\n" + rest);
    const double target = static_cast<double>(gradient_steps(steps.cells[0].config));
    for (const StudyCell& cell : steps.cells) {
      const double difference = static_cast<double>(gradient_steps(cell.config)) - target;
      EXPECT_LE(std::abs(difference), 0.15 * target) << cell.name << " " << adjust;
      EXPECT_EQ(cell.note.empty(), difference == 0.0) << cell.note;
    }
  }
  const std::string own = "seeds = 1\nmatch = 'minibatch_size'\n" + std::string(kScheduled) +
                          "[grid]\nshape_schedule = ['4x16/8 @ 0']\n";
  EXPECT_NE(refusal_of(own).find("(4x16/8 @ 0)"), std::string::npos);
}

TEST_F(ScheduleStudy, RefusesSchedulesThatContradictTheShapes) {
  const std::string shapes = "[shapes]\nlist = ['4x16', '8x16']\n";
  const std::string base = "seeds = 1\n[base]\ntotal_timesteps = 2000\n";
  EXPECT_NE(refusal_of(base + shapes + kGrid).find("shape_schedule, and so do the shapes"),
            std::string::npos);
  EXPECT_NE(refusal_of(base + "shape_schedule = '4x16 @ 0'\n" + shapes).find("the shapes"),
            std::string::npos);
  EXPECT_NE(refusal_of("seeds = 1\n" + std::string(kScheduled) +
                       "[grid]\nshape_schedule = ['8x16 @ 0, 4x16 @ 0.5']\n")
                .find("cell shape_schedule=8x16 @ 0, 4x16 @ 0.5: shape_schedule: begins with 8x16"),
            std::string::npos);
}

TEST_F(ScheduleStudy, RunsIsResumedAndReported) {
  const StudyPlan plan =
      plan_text("seeds = 3\npoints = 9\nevaluations = 2\n" + std::string(kScheduled) + kGrid);
  ASSERT_TRUE(run(plan, "whole", 2).ok());
  int finished = 0;
  for (bool complete = false; !complete;) {
    int now = 0;
    StudyHooks hooks;
    hooks.on_progress = [&](const StudyProgress& progress) { now = progress.finished; };
    hooks.should_stop = [&] { return now > finished + 3; };
    const Result<StudySummary> summary = run(plan, "stopped", 1, {}, hooks);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    complete = summary.value().is_over();
    finished = now;
  }
  EXPECT_EQ(dump("stopped"), dump("whole"));

  const Result<StudyResults> results = read_study_results(path("whole"));
  ASSERT_TRUE(results.ok()) << results.status().message();
  // A schedule that changes nothing equals the fixed shape.
  for (const ResultRun& a : results.value().runs) {
    for (const ResultRun& b : results.value().runs) {
      if (a.seed != b.seed || a.cell != 0 || b.cell == 0) continue;
      EXPECT_EQ(a.parameters_hash == b.parameters_hash, b.cell == 1) << b.cell;
    }
    EXPECT_EQ(a.values.count("num_envs"), a.cell == 0 ? 0u : 1u);
  }
}

TEST_F(ScheduleStudy, EachScheduleIsAnArmOfItsOwn) {
  const StudyPlan plan = plan_text("seeds = 3\n" + std::string(kScheduled) + kGrid);
  ASSERT_TRUE(run(plan, "store").ok());
  const Result<StudyReport> report = make_study_report({path("store")});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report.value().arms.size(), 4u);
  EXPECT_EQ(report.value().arms[2].name, "shape_schedule=4x16 @ 0, 16x8 @ 0.5");
  EXPECT_NE(report.value().arms[0].other, report.value().arms[2].other);
}

}  // namespace
}  // namespace broadloom
