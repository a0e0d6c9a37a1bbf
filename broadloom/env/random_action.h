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
  int choices = 1;                              // leading numbers that are choices
  const float *low = nullptr, *high = nullptr;  // [A], unless Discrete
};

// Points into `space`, which must outlive the result.
inline ActionBounds bounds_of(const Space& space) {
  return {space.kind, space.size, space.choice_count(), space.low.data(), space.high.data()};
}

// A uniformly random choice among those that are valid, [choices]; null: among all. Without a valid
// one, 0.
BROADLOOM_HD inline float draw_choice(int choices, const std::uint8_t* valid, Random& random) {
  int left = choices;
  for (int i = 0; valid != nullptr && i < choices; ++i) left -= valid[i] == 0 ? 1 : 0;
  int drawn = static_cast<int>(random.below(static_cast<std::uint32_t>(left > 0 ? left : 1)));
  if (valid == nullptr) return static_cast<float>(drawn);
  for (int i = 0; i < choices; ++i) {
    if (valid[i] != 0 && drawn-- == 0) return static_cast<float>(i);
  }
  return 0.0f;
}

// Writes a uniformly random action. An infinite bound counts as -1 or 1. action: [A]; the index if
// Discrete. valid: flags of valid choices [M] (env/action_masks.h), or null.
BROADLOOM_HD inline void draw_action(const ActionBounds& bounds, Random& random, float* action,
                                     const std::uint8_t* valid = nullptr) {
  if (bounds.kind == SpaceKind::kDiscrete) {
    action[0] = draw_choice(bounds.size, valid, random);
    return;
  }
  for (int a = 0; a < bounds.size; ++a) {
    if (a < bounds.choices) {
      const int choices = static_cast<int>(bounds.high[a]) + 1;
      action[a] = draw_choice(choices, valid, random);
      if (valid != nullptr) valid += choices;
      continue;
    }
    const double low = std::isfinite(bounds.low[a]) ? bounds.low[a] : -1.0;
    const double high = std::isfinite(bounds.high[a]) ? bounds.high[a] : 1.0;
    action[a] = static_cast<float>(random.uniform(low, high));
  }
}
inline void draw_action(const Space& space, Random& random, float* action,
                        const std::uint8_t* valid = nullptr) {
  draw_action(bounds_of(space), random, action, valid);
}

}  // namespace broadloom
