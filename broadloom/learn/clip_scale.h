// Gradient clipping by norm.
#pragma once

#include "broadloom/core/host_device.h"

namespace broadloom {

// The factor that clips a gradient, as in torch's clip_grad_norm_. max_norm 0: no clipping.
BROADLOOM_HD inline double clip_scale(double norm, double max_norm) {
  if (!(max_norm > 0.0)) return 1.0;
  const double scale = max_norm / (norm + 1e-6);
  return scale < 1.0 ? scale : 1.0;
}

}  // namespace broadloom
