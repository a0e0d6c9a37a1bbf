// A learning curve as a self-contained SVG picture.
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

// A picture of the runs' mean and, for two runs or more, the 95 % interval of that mean (1.96
// standard errors) over the steps that all of them have. Readable on light and dark pages. title:
// plain text.
Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace broadloom
