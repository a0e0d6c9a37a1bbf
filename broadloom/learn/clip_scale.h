// The clipping of a gradient to a norm.
#pragma once

#include "broadloom/core/host_device.h"

namespace broadloom {

// What a gradient is multiplied by, as torch's clip_grad_norm_ does. max_norm 0: never clipped.
BROADLOOM_HD inline double clip_scale(double norm, double max_norm) {
  if (!(max_norm > 0.0)) return 1.0;
  const double scale = max_norm / (norm + 1e-6);
  return scale < 1.0 ? scale : 1.0;
}

}  // namespace broadloom
