#include "broadloom/learn/optimizer.h"

#include <cmath>

#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

// RAdam: steps use only the first moment until the second moment has enough gradients for its
// variance to be defined. Later steps are rectified.
void rectify(double power2, std::int64_t steps, AdamStep& step) {
  const double most = 2.0 / (1.0 - step.beta2) - 1.0;
  const double rho = most - 2.0 * static_cast<double>(steps) * power2 / (1.0 - power2);
  step.correction2 = 1.0;
  step.is_adaptive = rho > 5.0;
  if (!step.is_adaptive) return;
  const double share = (rho - 4.0) * (rho - 2.0) * most / ((most - 4.0) * (most - 2.0) * rho);
  step.learning_rate *= std::sqrt(share) * std::sqrt(1.0 - power2);
}

}  // namespace

AdamStep optimizer_step(Optimizer optimizer, double learning_rate, double eps, std::int64_t steps,
                        const AdamBetas& betas) {
  AdamStep step;
  step.beta1 = betas.first;
  step.beta2 = betas.second;
  step.learning_rate = learning_rate;
  step.eps = eps;
  const double power2 = portable::power(step.beta2, steps);
  step.correction1 = 1.0 - portable::power(step.beta1, steps);
  step.correction2 = 1.0 - power2;
  if (optimizer == Optimizer::kRadam) rectify(power2, steps, step);
  return step;
}

}  // namespace broadloom
