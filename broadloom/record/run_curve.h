// A run's learning curve, read back.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Points of one run: mean return of the last 100 episodes against environment steps.
struct Curve {
  std::vector<double> steps;    // ascending
  std::vector<double> returns;  // as many
};

// The curve of a run folder's metrics.jsonl. kNotFound, kIo or kCorrupt; kNotFound too where no
// episode has ended yet.
Result<Curve> read_curve(const std::string& run_dir);

}  // namespace broadloom
