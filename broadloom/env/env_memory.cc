#include "broadloom/env/env_memory.h"

#include <cstdint>
#include <vector>

#include "broadloom/env/simulator_call.h"

namespace broadloom {

std::size_t state_bytes_per_env(VecEnv& envs) {
  std::size_t bytes = 0;
  for (const TensorRef& tensor : state_of_simulator(envs, "envs")) bytes += tensor.bytes();
  return bytes / static_cast<std::size_t>(envs.num_envs());
}

std::size_t environment_bytes(VecEnv& envs, int num_envs) {
  constexpr std::size_t kSeedFamily = sizeof(std::uint32_t);
  const auto* const shared = capability<SharedMemory>(envs);
  return static_cast<std::size_t>(num_envs) * (state_bytes_per_env(envs) + kSeedFamily) +
         (shared == nullptr ? 0 : shared->shared_bytes());
}

}  // namespace broadloom
