// adam_update()'s step of one parameter, for host and device, with the same bits; see adam.h.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"
#include "broadloom/math/adam.h"
#include "broadloom/math/element_functions.h"

namespace broadloom {

// An AdamStep in float32 factors. grad_scale is missing, because it follows from the gradient.
struct AdamFactors {
  float keep1, take1, keep2, take2, rate, inverse_root2, eps;
  bool is_adaptive;

  AdamFactors() = default;
  explicit AdamFactors(const AdamStep& step)
      : keep1(static_cast<float>(step.beta1)),
        take1(static_cast<float>(1.0 - step.beta1)),
        keep2(static_cast<float>(step.beta2)),
        take2(static_cast<float>(1.0 - step.beta2)),
        rate(static_cast<float>(step.learning_rate / step.correction1)),
        inverse_root2(static_cast<float>(1.0 / std::sqrt(step.correction2))),
        eps(static_cast<float>(step.eps)),
        is_adaptive(step.is_adaptive) {}
};

BROADLOOM_HD inline void adam_element(const AdamFactors& factors, float scale, float grad,
                                      float& param, float& m, float& v) {
  const float g = grad * scale;
  m = element::mul_add(factors.keep1, m, factors.take1 * g);
  v = element::mul_add(factors.keep2, v, factors.take2 * (g * g));
  const float momentum = factors.rate * m;
  param -= factors.is_adaptive
               ? momentum / element::mul_add(std::sqrt(v), factors.inverse_root2, factors.eps)
               : momentum;
}

}  // namespace broadloom
