// A rollout block as kernels have it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/env/frames.h"
#include "broadloom/env/vec_env.h"
#include "cuda/env/device_observations.h"
#include "cuda/env/next_observations.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// The arrays of RolloutBlock that collecting fills, and what goes on from block to block. E: all
// environments, of which this block steps the first N and the others rest.
struct DeviceRollout {
  int T, N, D, A, S;
  FrameLayout frames;                     // of stacks that observations are; of one: they are none
  DeviceObservations observations;        // [T, N, D] raw while a block is collected
  float* actions;                         // [T, N, A] as drawn
  float *log_probs, *values, *rewards;    // [T, N]
  std::uint8_t *terminated, *truncated;   // [T, N]
  EpisodeEnd* outcomes;                   // [T, N] of what ended; or null
  int* truncations;                       // [N]
  DeviceObservations final_observations;  // [N, S, D]
  float *last_values, *final_values;      // [N], [N, S]
  float* advantages;                      // [T, N]
  DeviceObservations now;                 // [E, D] what policies see of the environments
  DeviceObservations shown, ends;  // [E, F] scratch: what they show, and of episodes that end; a
                                   // frame, or as now, which `shown` is then
  float* clipped;                  // [N, A] scratch, actions within their bounds
  std::uint64_t* faults;           // [N] fault_order() of what is first not finite
  // Of intrinsic rewards, where there are some: arrays as RolloutBlock has them. learnt: [T, N]
  // what the policy learns from, which is `advantages` where there are none.
  DeviceObservations last_observations;
  float *int_values, *last_int_values, *int_rewards, *int_advantages, *learnt;

  BROADLOOM_HD NextObservations next() const {
    const std::size_t envs = static_cast<std::size_t>(N);
    return {observations, last_observations, envs, static_cast<std::size_t>(T) * envs};
  }
  // What a loss reads of a row, but for images and actions of more than one number.
  BROADLOOM_HD void fetch_ahead(std::size_t row) const {
    if (observations.floats != nullptr) cuda::fetch_ahead(observations.floats + row * D);
    for (const float* of : {log_probs, values, learnt}) cuda::fetch_ahead(of + row);
    cuda::fetch_ahead(actions + row * A);
  }
};

}  // namespace broadloom::cuda
