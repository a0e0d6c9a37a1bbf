// Capability: environments that also step in the memory of a GPU, so that their observations and
// actions need no copy through the host.
//
// With device = cuda a trainer calls these functions instead of observe() and step(). Evaluations
// still use those, so both ways must give the same bits. All arrays are in the GPU's memory, have
// rows of all N environments and keep their places for the run. A simulator can therefore record
// its work once and repeat it, as a CUDA graph. It resets ended environments itself, and truncates
// at spec().max_episode_steps.
//
// Only for environments that step as one batch (traits().whole_batch). Work goes to `stream`, a
// cudaStream_t, or is ordered with it by events. The functions need not wait for it: the trainer
// waits once a block.
#pragma once

#include <cstdint>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Arrays of a step. The four flag arrays are 0 when it begins, and rewards are NaN.
struct DeviceStepRows {
  const float* actions = nullptr;  // [N, A] in; a choice is its index; a Box is within its bounds
  void* observations = nullptr;    // [N, D] out, of the dtype of spec()
  float* rewards = nullptr;        // [N] out
  std::uint8_t *terminated = nullptr, *truncated = nullptr;  // [N] out, at most one of them is 1
  void* final_observations = nullptr;  // [N, D] out: the last one of each truncated episode
  // [N] out, for ended episodes: an index into end_reasons, and 1 for a success.
  std::uint8_t *reasons = nullptr, *successes = nullptr;
  void *critic_observations = nullptr, *final_critic_observations = nullptr;  // null: none
  std::uint8_t* valid_actions = nullptr;  // [N, M] out, flags (action_masks.h); null: no masks
};

class DeviceSteps {
 public:
  virtual ~DeviceSteps() = default;
  // Whether they can, as they were made. Constant during their lifetime.
  virtual bool can_step_on_device() const { return true; }
  // Copies the host's state to the GPU: before the first block, and once it was overwritten. The
  // host's state may change as soon as this returns.
  virtual Status take_to_device(void* stream) = 0;
  // Copies the state back and waits for that, before the host reads it.
  virtual Status bring_from_device(void* stream) = 0;
  // Writes observations, and flags of valid actions, at the start of each block. Changes no state.
  virtual Status observe_on_device(const DeviceStepRows& rows, void* stream) = 0;
  // Steps all environments. One that ends shows its next episode's first observation.
  virtual Status step_on_device(const DeviceStepRows& rows, void* stream) = 0;
  // The end flags [T, N] of a block whose steps all went well, on the host. An error ends the run.
  virtual Status took_block(int /*T*/, const std::uint8_t* /*terminated*/,
                            const std::uint8_t* /*truncated*/) {
    return {};
  }
};

// Null if these environments lack the capability. A wrapper must implement it itself, so that no
// step bypasses the wrapper. Sums of steps (step_counter.h) and strata are known to the host alone,
// so the host steps environments that have them.
inline DeviceSteps* device_steps(VecEnv& envs) {
  auto* const steps = dynamic_cast<DeviceSteps*>(&envs);
  const EnvSpec& spec = envs.spec();
  const bool can = envs.traits().whole_batch && spec.counted() == 0 && spec.strata.empty();
  return steps != nullptr && can && steps->can_step_on_device() ? steps : nullptr;
}

}  // namespace broadloom
