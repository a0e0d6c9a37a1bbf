// A number of a Box's action as an environment gets it, for host and device.
#pragma once

#include "broadloom/core/host_device.h"
#include "broadloom/env/action_scale.h"
#include "broadloom/math/element_functions.h"
#include "broadloom/nn/pair_distributions.h"

namespace broadloom {

// From the number that was drawn: clipped to the bounds, or squashed and then scaled to them.
BROADLOOM_HD inline float played_number(PairKind kind, bool is_squashed, float drawn, float low,
                                        float high) {
  if (!is_squashed) return drawn < low ? low : high < drawn ? high : drawn;
  return scaled_action(element::tanh(kind == PairKind::kBeta ? 0.5f * drawn : drawn), low, high);
}

}  // namespace broadloom
