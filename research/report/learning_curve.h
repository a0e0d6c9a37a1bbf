// Learning curves as a self-contained SVG picture.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/run_curve.h"

namespace broadloom {

// Draws one line for each of `lines`: the interquartile mean over its runs, at the steps that all
// of them have. From five runs on the band is its 95 % bootstrap interval; with two to four it
// reaches from the lowest to the highest run. No band leaves the returns that were seen. Lines have
// their colour, name and number of runs above the picture. Readable on light and dark pages.
//
// title: plain text. kInvalidConfig for no lines, or more than a picture can tell apart (12).
// Other errors: those of common_steps(), for example if runs of a line share no steps.
Result<std::string> learning_curve_svg(const std::string& title,
                                       const std::vector<SeedCurves>& lines);

}  // namespace broadloom
