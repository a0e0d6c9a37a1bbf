// Capability: environments that play many episodes in waves, with few environments. Evaluations use
// it for simulators that step all environments at once, whose environments may be processes or
// compiled code.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class EpisodeWaves {
 public:
  virtual ~EpisodeWaves() = default;

  // Starts new episodes in all environments. Environment i begins like the first episode of
  // environment first + i in a larger set with the same options.
  virtual Status begin_wave(int first) = 0;
  // Whether begin_wave() may be called. A wrapper asks the wrapped environments.
  virtual bool can_begin_waves() const { return true; }
};

// Null if these environments lack the capability. A wrapper with its own state must implement it,
// so that no wave bypasses the wrapper.
inline EpisodeWaves* episode_waves(VecEnv& envs) {
  auto* const waves = dynamic_cast<EpisodeWaves*>(&envs);
  return waves == nullptr || !waves->can_begin_waves() ? nullptr : waves;
}
inline const EpisodeWaves* episode_waves(const VecEnv& envs) {
  return episode_waves(const_cast<VecEnv&>(envs));
}

}  // namespace broadloom
