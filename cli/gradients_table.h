// The tables of `broadloom gradients`.
#pragma once

#include "research/lab/gradient_report.h"

namespace broadloom::cli {

// Prints the study's tables: agreement, variance, correlation, bias, and sampled beside exact
// values.
void print_gradients(const GradientStudyReport& report);

}  // namespace broadloom::cli
