// Uniformly random actions of a space, for benchmarks, first steps and staggered starts:
//
//   std::vector<float> action(static_cast<std::size_t>(spec.action_size()));
//   Random random(seed, Purpose::kUser, env, step);
//   draw_action(spec.action, random, action.data());
//
// Allocates nothing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// An action space as plain numbers and pointers, readable by a GPU.
struct ActionBounds {
  bool is_discrete = true;                      // else a Box
  int size = 1;                                 // n of a Discrete space, A of a Box
  const float *low = nullptr, *high = nullptr;  // [A] of a Box
};

// Points into `space`, which must outlive the result.
inline ActionBounds bounds_of(const Space& space) {
  return {space.kind == SpaceKind::kDiscrete, space.size, space.low.data(), space.high.data()};
}

// Writes a uniformly random action. An infinite bound counts as -1 or 1. action: [1] for Discrete
// (the index), [A] for a Box.
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
