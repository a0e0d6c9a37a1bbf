// Capability: environments that play many episodes with few environments, a wave at a time.
// Evaluations ask simulators for it that step all environments at once, where each environment may
// be a process or compiled code.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class EpisodeWaves {
 public:
  virtual ~EpisodeWaves() = default;

  // New episodes everywhere: environment i begins as environment first + i of a larger number, all
  // made with the same options, would begin its first one.
  virtual Status begin_wave(int first) = 0;
  // Whether begin_wave() may be called: a wrapper asks what it wraps.
  virtual bool can_begin_waves() const { return true; }
};

// Null where these environments cannot. A wrapper that keeps a state of its own must implement the
// capability, so that which it wraps is not asked past it.
inline EpisodeWaves* episode_waves(VecEnv& envs) {
  auto* const waves = dynamic_cast<EpisodeWaves*>(&envs);
  return waves == nullptr || !waves->can_begin_waves() ? nullptr : waves;
}
inline const EpisodeWaves* episode_waves(const VecEnv& envs) {
  return episode_waves(const_cast<VecEnv&>(envs));
}

}  // namespace broadloom
