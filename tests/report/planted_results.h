// Stores with planted instead of trained results, so that a report's numbers are known.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "research/report/study_report.h"
#include "research/study/study_store.h"
#include "tests/study/scene.h"

namespace broadloom {

inline constexpr double kNoReturn = std::numeric_limits<double>::quiet_NaN();

// The score of a run. kNoReturn: no episode ended. Nothing: the run stays pending.
using Planted = std::function<std::optional<double>(int cell, int seed)>;

// A curve that rises evenly from 0 to the score; the one evaluation is 100 above the score.
inline RunRecord planted_run(const StudyPlan& plan, std::int64_t id, int cell, double score) {
  RunRecord record;
  record.id = id;
  record.parameters_hash = plan.hash + std::to_string(id) + to_text(score);
  record.isa = "avx2";
  record.started = record.finished = "2026-01-01T00:00:00Z";
  record.seconds = 2.0 * (cell + 1);
  const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
  for (int k = 1; k <= plan.points; ++k) {
    const std::int64_t steps = config.total_timesteps * k / plan.points;
    const double share = static_cast<double>(k) / plan.points;
    record.curve.push_back({k, steps, steps, k, record.seconds * share, {}});
    record.curve.back().values = {{"episodic_return", score * share}, {"entropy", 0.5}};
  }
  record.evaluations.push_back({config.total_timesteps, 10, 10, score + 100.0, 0, 0, 0, 0});
  return record;
}

class PlantedTest : public StudyTest {
 protected:
  void plant(const StudyPlan& plan, const std::string& name, const Planted& score,
             const std::function<bool(int, int)>& fails = nullptr) const {
    Result<StudyStore> store = StudyStore::open(path(name), plan, {}, false);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (const StudyRun& run : plan.runs) {
      const int seed = static_cast<int>(run.seed);
      const std::optional<double> value = score(run.cell, seed);
      if (!value) continue;
      RunRecord record = planted_run(plan, run.id, run.cell, *value);
      record.failed = fails && fails(run.cell, seed);
      if (record.failed) record.error = "the loss is not finite";
      const Status status = store.value().write(record);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }

  // Uses few replicates, for speed.
  StudyReport report(const std::vector<std::string>& names, int threads = 1,
                     int replicates = 2000) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(path(name));
    const Result<StudyReport> made = make_study_report(paths, {replicates, 300, 1, threads});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.value();
  }
};

// Shapes 4x16, 8x8 and 16x4 with the same gradient steps.
inline StudyPlan ladder_plan(int seeds, const std::string& base = "") {
  return plan_text("seeds = " + std::to_string(seeds) +
                   "\npoints = 4\n[base]\ntotal_timesteps = 102400\n" + base +
                   "[shapes]\nlist = ['4x16', '8x8', '16x4']\n");
}

// Shapes 8x8, 16x8 and 8x16: the last two take half the gradient steps.
inline StudyPlan doubled_plan(int seeds) {
  return plan_text("seeds = " + std::to_string(seeds) +
                   "\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\ndoubled = '8x8'\n");
}

// Scores around a cell's mean, with the same spread of -5 to 5 in every cell.
inline double around(double mean, int seed) { return mean + (seed * 7 % 11) - 5.0; }

}  // namespace broadloom
