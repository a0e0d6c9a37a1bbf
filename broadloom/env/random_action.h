// Actions of nobody's policy: for phases, pushes and benchmarks.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// A space of actions as plain numbers, which may be on a device.
struct ActionBounds {
  bool is_discrete = true;
  int size = 1;                                 // how many Discrete actions, or Box's A
  const float *low = nullptr, *high = nullptr;  // [A] of a Box
};

// Good as long as the space is.
inline ActionBounds bounds_of(const Space& space) {
  return {space.kind == SpaceKind::kDiscrete, space.size, space.low.data(), space.high.data()};
}

// A uniform action of the space; a bound that is not finite counts as 1 or -1. action: [1] for
// Discrete (the index), [A] for Box.
BROADLOOM_HD inline void draw_action(const ActionBounds& bounds, Random& random, float* action) {
  if (bounds.is_discrete) {
    action[0] = static_cast<float>(random.below(static_cast<std::uint32_t>(bounds.size)));
    return;
  }
  for (int a = 0; a < bounds.size; ++a) {
    const double low = std::isfinite(bounds.low[a]) ? bounds.low[a] : -1.0;
    const double high = std::isfinite(bounds.high[a]) ? bounds.high[a] : 1.0;
    action[a] = static_cast<float>(random.uniform(low, high));
  }
}
inline void draw_action(const Space& space, Random& random, float* action) {
  draw_action(bounds_of(space), random, action);
}

}  // namespace broadloom
