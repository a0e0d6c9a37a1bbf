// Memory of environments, in bytes.
#pragma once

#include <cstddef>

#include "broadloom/env/vec_env.h"

namespace broadloom {

// Capability: environments with shared memory, whatever their number: a simulator's models, tables,
// and per-thread working copies.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  virtual std::size_t shared_bytes() const = 0;
};

// Bytes of one environment's state. envs: any number of environments of that kind.
std::size_t state_bytes_per_env(VecEnv& envs);

// Bytes of num_envs environments of that kind: states, seed families and shared memory.
std::size_t environment_bytes(VecEnv& envs, int num_envs);

}  // namespace broadloom
