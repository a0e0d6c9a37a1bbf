// Bytes that environments take.
#pragma once

#include <cstddef>

#include "broadloom/env/vec_env.h"

namespace broadloom {

// Capability: environments with memory in common, however many there are: a simulator's models,
// tables, working copies of its threads.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  virtual std::size_t shared_bytes() const = 0;
};

// Bytes of one environment's state; envs: any number of its kind.
std::size_t state_bytes_per_env(VecEnv& envs);

// Bytes of num_envs environments of that kind: states, seed families and shared memory.
std::size_t environment_bytes(VecEnv& envs, int num_envs);

}  // namespace broadloom
