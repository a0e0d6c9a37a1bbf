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
  SpaceKind kind = SpaceKind::kDiscrete;
  int size = 1;                                 // n of a Discrete space, else A
  const float *low = nullptr, *high = nullptr;  // [A], unless Discrete
};

// Points into `space`, which must outlive the result.
inline ActionBounds bounds_of(const Space& space) {
  return {space.kind, space.size, space.low.data(), space.high.data()};
}

// Writes a uniformly random action. An infinite bound counts as -1 or 1. action: [A]; the index if
// Discrete.
BROADLOOM_HD inline void draw_action(const ActionBounds& bounds, Random& random, float* action) {
  const auto draw_choice = [&](int choices) {
    return static_cast<float>(random.below(static_cast<std::uint32_t>(choices)));
  };
  if (bounds.kind == SpaceKind::kDiscrete) {
    action[0] = draw_choice(bounds.size);
    return;
  }
  for (int a = 0; a < bounds.size; ++a) {
    if (bounds.kind == SpaceKind::kMultiDiscrete) {
      action[a] = draw_choice(static_cast<int>(bounds.high[a]) + 1);
      continue;
    }
    const double low = std::isfinite(bounds.low[a]) ? bounds.low[a] : -1.0;
    const double high = std::isfinite(bounds.high[a]) ? bounds.high[a] : 1.0;
    action[a] = static_cast<float>(random.uniform(low, high));
  }
}
inline void draw_action(const Space& space, Random& random, float* action) {
  draw_action(bounds_of(space), random, action);
}

}  // namespace broadloom
