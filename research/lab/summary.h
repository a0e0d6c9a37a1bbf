// The findings of a gradient study, in sentences: the best shape for one block, and shapes that
// point away. Also effects of the critic and of dependent samples, variance, bias and exact values.
// Terminal and page show these sentences; no other code writes any.
#pragma once

#include <string>
#include <vector>

#include "research/lab/gradient_report.h"

namespace broadloom {

// Claims only what the intervals support. Two numbers are called different if their intervals do
// not overlap, and a number positive if its interval is. At the run's own lambda, or the nearest
// measured one.
std::vector<std::string> summary_of(const GradientStudyReport& report);

// The lambda of the summary.
double summary_lambda(const GradientStudyReport& report);

}  // namespace broadloom
