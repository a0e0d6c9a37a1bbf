// Reads learning curves of runs.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Points of one run: mean return of the last episodes against environment steps.
struct Curve {
  std::vector<double> steps;    // ascending
  std::vector<double> returns;  // as many
};

// The curve of a run folder's metrics.jsonl. kNotFound, kIo or kCorrupt; also kNotFound if no
// episode has ended yet.
Result<Curve> read_curve(const std::string& run_dir);

// Runs that differ in their seed alone.
struct SeedCurves {
  std::string name;           // the settings that other lines do not share: "gamma=0.9"; "": none
  std::vector<Curve> curves;  // one per run
  std::vector<std::string> run_dirs = {};  // of the curves
  Overrides settings = {};                 // of the first run
};

struct Curves {
  std::string task;                // the environment, without its options
  std::vector<SeedCurves> lines;   // in the order of their first runs
  std::vector<std::string> notes;  // sentences: what lets the lines differ besides settings
};

// The runs of each task, in the order of their first runs: of equal environments and environment
// options. Errors: those of manifests.
Result<std::vector<std::vector<std::string>>> runs_by_task(
    const std::vector<std::string>& run_dirs);

// Runs that count once each.
struct DistinctRuns {
  std::vector<std::string> run_dirs;
  std::vector<std::string> notes;  // a sentence about each that was left out
};
// Leaves out runs that are equal to an earlier one: the same folder, a copy, or a rerun, which
// gives way to its original in any order. Errors: those of manifests.
Result<DistinctRuns> distinct_runs(const std::vector<std::string>& run_dirs);

// Reads the curves of one or more runs; those of equal settings form one line. kInvalidConfig if
// their tasks differ: other environments or other environment options. Notes name differing
// lengths. Other errors: those of read_curve() and of manifests.
Result<Curves> read_curves(const std::vector<std::string>& run_dirs);

}  // namespace broadloom
