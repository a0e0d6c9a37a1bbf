// Actions of nobody's policy: for phases, pushes and benchmarks.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "broadloom/core/random.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// A uniform action of the space; a bound that is not finite counts as 1 or -1. action: [1] for
// Discrete (the index), [A] for Box.
inline void draw_action(const Space& space, Random& random, float* action) {
  if (space.kind == SpaceKind::kDiscrete) {
    action[0] = static_cast<float>(random.below(static_cast<std::uint32_t>(space.size)));
    return;
  }
  for (std::size_t a = 0; a < static_cast<std::size_t>(space.size); ++a) {
    const double low = std::isfinite(space.low[a]) ? space.low[a] : -1.0;
    const double high = std::isfinite(space.high[a]) ? space.high[a] : 1.0;
    action[a] = static_cast<float>(random.uniform(low, high));
  }
}

}  // namespace broadloom
