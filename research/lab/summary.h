// What a look at a policy's gradients comes to, in sentences: which shape is best for one block,
// where blocks point away, what the critic and the dependence of samples are worth, variance, bias
// and exact values. The terminal and the page show these sentences; nothing else writes any.
#pragma once

#include <string>
#include <vector>

#include "research/lab/gradient_report.h"

namespace broadloom {

// Only what intervals allow: two numbers are called different where theirs are apart, and a number
// above zero where its own is. At the run's own lambda, or the nearest one that was measured.
std::vector<std::string> summary_of(const GradientStudyReport& report);

// The lambda that it is of.
double summary_lambda(const GradientStudyReport& report);

}  // namespace broadloom
