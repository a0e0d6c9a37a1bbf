// What `broadloom gradients` prints.
#pragma once

#include "research/lab/gradient_report.h"

namespace broadloom::cli {

// Tables on standard output: the variance by shape, the correlations, the bias, sampled beside
// exact.
void print_gradients(const GradientStudyReport& report);

}  // namespace broadloom::cli
