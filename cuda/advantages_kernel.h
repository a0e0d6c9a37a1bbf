// Generalised advantages on the device, with the bits of compute_advantages
// (rollout/advantages.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/rollout/advantage_formula.h"
#include "cuda/kernel.h"

namespace broadloom::cuda {

// One thread an environment, from the last step to the first. Arrays as RolloutBlock has them.
struct AdvantagesKernel {
  int T, N, S;
  const float *rewards, *values;               // [T, N]
  const std::uint8_t *terminated, *truncated;  // [T, N]
  const float* last_values;                    // [N]
  const int* truncations;                      // [N] slots in use
  const float* final_values;                   // [N, S]
  Discounts discounts;
  TruncationMode mode;
  float* advantages;  // [T, N]

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int n = block.index() * block.threads() + block.thread();
    if (n >= N) return;
    float next_value = last_values[n];
    float next_advantage = 0.0f;
    std::size_t slot = static_cast<std::size_t>(n) * S + truncations[n];
    for (int t = T - 1; t >= 0; --t) {
      const std::size_t i = static_cast<std::size_t>(t) * N + n;
      float advantage;
      if (truncated[i] != 0) {
        advantage =
            truncated_delta(mode, rewards[i], discounts.gamma, values[i], final_values[--slot]);
      } else if (terminated[i] != 0) {
        advantage = rewards[i] - values[i];
      } else {
        advantage =
            advantage_going_on(discounts, rewards[i], values[i], next_value, next_advantage);
      }
      advantages[i] = advantage;
      next_advantage = advantage;
      next_value = values[i];
    }
  }
};

}  // namespace broadloom::cuda
