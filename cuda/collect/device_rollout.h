// A rollout block as kernels see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/env/frames.h"
#include "broadloom/env/vec_env.h"
#include "cuda/env/device_observations.h"
#include "cuda/env/next_observations.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// The arrays of RolloutBlock that collection fills, and the state that passes from block to block.
// E: all environments, of which this block steps the first N.
struct DeviceRollout {
  int T, N, D, A, S;
  FrameLayout frames;                     // layout of frame stacks; count 1: no stacks
  DeviceObservations observations;        // [T, N, D] raw during collection
  float* actions;                         // [T, N, A] as drawn
  float *log_probs, *values, *rewards;    // [T, N]
  std::uint8_t *terminated, *truncated;   // [T, N]
  EpisodeEnd* outcomes;                   // [T, N] of ended episodes; or null
  int* truncations;                       // [N]
  DeviceObservations final_observations;  // [N, S, D]
  float *last_values, *final_values;      // [N], [N, S]
  float* advantages;                      // [T, N]
  DeviceObservations now;                 // [E, D] current observations as policies see them
  DeviceObservations shown, ends;  // [E, F] scratch: current and final observations, one frame
                                   // each. Without stacks, `shown` is the same array as `now`.
  float* clipped;                  // [N, A] scratch, actions within their bounds
  std::uint64_t* faults;           // [N] fault_order() of the first number that is not finite
  // Arrays of intrinsic rewards as in RolloutBlock, if there are any. learnt: [T, N] advantages
  // that the policy learns from; equal to `advantages` without intrinsic rewards.
  DeviceObservations last_observations;
  float *int_values, *last_int_values, *int_rewards, *int_advantages, *learnt;

  BROADLOOM_HD NextObservations next() const {
    const std::size_t envs = static_cast<std::size_t>(N);
    return {observations, last_observations, envs, static_cast<std::size_t>(T) * envs};
  }
  // Prefetches a row for a loss, except images and further numbers of an action.
  BROADLOOM_HD void fetch_ahead(std::size_t row) const {
    if (observations.floats != nullptr) cuda::fetch_ahead(observations.floats + row * D);
    for (const float* numbers : {log_probs, values, learnt}) cuda::fetch_ahead(numbers + row);
    cuda::fetch_ahead(actions + row * A);
  }
};

}  // namespace broadloom::cuda
