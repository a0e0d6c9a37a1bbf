// The Adam optimiser's step over flat arrays.
#pragma once

#include <cstddef>

namespace broadloom {

struct AdamStep {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-5;
  double correction1 = 1.0;  // 1 - beta1^steps
  double correction2 = 1.0;  // 1 - beta2^steps
  double grad_scale = 1.0;   // the gradient is multiplied by it first (norm clipping)
  bool is_adaptive = true;   // otherwise p -= learning_rate / correction1 * m; v is still updated
};

// Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1, with eps placed as in torch.optim.Adam:
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   p -= learning_rate / correction1 * m / (sqrt(v) / sqrt(correction2) + eps)
// All arrays are [n].
void adam_update(float* params, float* m, float* v, const float* grad, std::size_t n,
                 const AdamStep& step);

}  // namespace broadloom
