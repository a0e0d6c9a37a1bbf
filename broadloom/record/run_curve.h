// A run's learning curve, read back.
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

// The curve of a run folder's metrics.jsonl. kNotFound, kIo or kCorrupt; kNotFound too where no
// episode has ended yet.
Result<Curve> read_curve(const std::string& run_dir);

struct Curves {
  std::vector<Curve> curves;       // one a run
  std::vector<std::string> notes;  // in sentences: what else a mean over these runs is over
};

// Curves of runs, one or more, that a mean is to be taken over. kInvalidConfig where they are of
// different tasks: of other environments, or other options of one. Settings but the seed, and
// lengths, that differ are noted. Otherwise as read_curve, and the errors of manifests.
Result<Curves> read_curves(const std::vector<std::string>& run_dirs);

}  // namespace broadloom
