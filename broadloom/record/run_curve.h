// Reads learning curves of runs.
#pragma once

#include <string>
#include <vector>

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

struct Curves {
  std::vector<Curve> curves;       // one per run
  std::vector<std::string> notes;  // sentences: other differences that a mean over these runs mixes
};

// Reads the curves of one or more runs to average. kInvalidConfig if their tasks differ: other
// environments or other environment options. Notes name differing lengths and settings other than
// the seed. Other errors: those of read_curve() and of manifests.
Result<Curves> read_curves(const std::vector<std::string>& run_dirs);

}  // namespace broadloom
