// A learning curve as a self-contained SVG picture.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/run_curve.h"

namespace broadloom {

// Draws the mean of the runs over the steps that all of them have. Two or more runs get the 95 %
// interval of the mean (Student's t). Readable on light and dark pages. title: plain text. Errors:
// those of common_steps(), for example if no steps are shared.
Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace broadloom
