// A learning curve as a self-contained SVG picture.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/run_curve.h"

namespace broadloom {

// A picture of the runs' mean and, for two runs or more, the 95 % interval of that mean
// (Student's t: wide where runs are few) over the steps that all of them have. Readable on light
// and dark pages. title: plain text. Errors: those of common_steps(), as where no steps are shared.
Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace broadloom
