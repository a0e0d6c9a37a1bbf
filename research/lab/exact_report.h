// Sampled numbers beside the exact ones.
#pragma once

#include "broadloom/core/status.h"
#include "research/lab/exact.h"
#include "research/lab/frozen.h"
#include "research/lab/gradient_report.h"

namespace broadloom {

// The exact gradients of a policy. continued: see ExactSettings. kInvalidConfig if its environment
// has no table, or if observations or rewards are normalised, which the table does not know. Other
// errors as ExactGradients::create().
Result<std::unique_ptr<ExactGradients>> solve_exactly(const Policy& policy, Starts starts,
                                                      bool continued);

// One case per bias result, with the exact numbers of its (T, lambda, gamma). Adds Tr Cov(G_B) if
// `variance` has a result for that T and lambda; all of those are for `gamma`. Leaves out variances
// that are too large to solve for, and adds a note.
ExactReport exact_report(const Policy& policy, ExactGradients& exact,
                         const std::vector<BiasResult>& bias,
                         const std::vector<VarianceResult>& variance, double gamma,
                         std::vector<std::string>& notes);

}  // namespace broadloom
