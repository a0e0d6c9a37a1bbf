// A rollout block as kernels see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/env/frames.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "cuda/env/device_observations.h"
#include "cuda/env/next_observations.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// Observations that only the critic reads. D 0: it reads the policy's.
struct CriticRows {
  int D = 0;
  DeviceObservations observations{};        // [T, N, D] raw during collection
  DeviceObservations final_observations{};  // [N, S, D]
  DeviceObservations now{}, ends{};         // [E, D] scratch: current and final observations

  BROADLOOM_HD bool are_there() const { return D > 0; }
};

// The choices of an action: one number of a Discrete or MultiDiscrete action each. Their logits lie
// one choice after the other. Some may be invalid (env/action_masks.h).
struct ActionChoices {
  int count = 0;                                        // 0: an action has none
  const int* options = nullptr;                         // [count]
  int M = 0;                                            // flags of a row; 0: no masks
  std::uint8_t *valid = nullptr, *valid_now = nullptr;  // flags [T, N, M], and present ones [E, M]

  // Replaces the logits of invalid options by kInvalidLogit, as ActorCritic does. flags: of a row.
  BROADLOOM_HD void mask(const std::uint8_t* flags, float* logits, int stride) const {
    for (int i = 0; i < M; ++i) {
      if (flags[i] == 0) logits[i * stride] = kInvalidLogit;
    }
  }
  // Whether each choice has a valid option.
  BROADLOOM_HD bool can_act(const std::uint8_t* flags) const {
    for (int c = 0; c < count && M > 0; flags += options[c++]) {
      bool any = false;
      for (int i = 0; i < options[c]; ++i) any = any || flags[i] != 0;
      if (!any) return false;
    }
    return true;
  }
};

// The arrays of RolloutBlock that collection fills, and the state that passes from block to block.
// E: all environments, of which this block steps the first N. Each of several ranks steps a part of
// them, and gets the rows of the others.
struct DeviceRollout {
  int T, N, D, A, S;
  int first_env, end_env;                 // environments that are stepped here
  FrameLayout frames;                     // layout of frame stacks; count 1: no stacks
  DeviceObservations observations;        // [T, N, D] raw during collection
  float* actions;                         // [T, N, A] as drawn
  float *log_probs, *values, *rewards;    // [T, N]
  float *means, *old_log_std;             // [T, N, outputs] and [A] of what drew; or null
  std::uint8_t *terminated, *truncated;   // [T, N]
  EpisodeEnd* outcomes;                   // [T, N] of ended episodes; or null
  int* truncations;                       // [N]
  DeviceObservations final_observations;  // [N, S, D]
  float *last_values, *final_values;      // [N], [N, S]
  float* advantages;                      // [T, N]
  DeviceObservations now;                 // [E, D] current observations as policies see them
  DeviceObservations shown, ends;  // [E, F] scratch: current and final observations as environments
                                   // show them. If those are whole, `shown` is the array of `now`.
  float* clipped;                  // [N, A] scratch, actions within their bounds
  std::uint64_t* faults;           // [N] fault_order() of the first fault
  // Arrays of intrinsic rewards as in RolloutBlock, if there are any. learnt: [T, N] advantages
  // that the policy learns from; equal to `advantages` without intrinsic rewards.
  DeviceObservations last_observations;
  float *int_values, *last_int_values, *int_rewards, *int_advantages, *learnt;
  CriticRows critic;
  ActionChoices choices;

  // The block's observations that a side of the network reads: 0 the policy, 1 a separate critic.
  BROADLOOM_HD const DeviceObservations& read_by(int side) const {
    return side == 1 && critic.are_there() ? critic.observations : observations;
  }
  BROADLOOM_HD int own_envs() const { return end_env - first_env; }
  // Whether environments show single frames, which are stacked here.
  BROADLOOM_HD bool shows_frames() const { return shown.bytes != now.bytes; }
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
