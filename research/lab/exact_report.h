// What was sampled beside what is exact.
#pragma once

#include "broadloom/core/status.h"
#include "research/lab/exact.h"
#include "research/lab/frozen.h"
#include "research/lab/gradient_report.h"

namespace broadloom {

// The exact gradients of a policy. kInvalidConfig where its environment has no table, or where
// observations or rewards are normalised (the table knows nothing of that); errors as
// ExactGradients::create().
// continued: see ExactSettings.
Result<std::unique_ptr<ExactGradients>> solve_exactly(const Policy& policy, Starts starts,
                                                      bool continued);

// One case a bias result, with the exact numbers of its (T, lambda, gamma); Tr Cov(G_B) is added
// where `variance` has a result for that T and lambda, all of which are for `gamma`. Variances too
// large to solve for are left out, and a note says so.
ExactReport exact_report(const Policy& policy, ExactGradients& exact,
                         const std::vector<BiasResult>& bias,
                         const std::vector<VarianceResult>& variance, double gamma,
                         std::vector<std::string>& notes);

}  // namespace broadloom
