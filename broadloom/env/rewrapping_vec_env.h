// A wrapper around environments that also wraps what they make: further environments, and waves of
// episodes. The program's own wrappers, which settings such as env.frame_stack choose, derive from
// it.
#pragma once

#include <memory>
#include <utility>

#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/forwarding_vec_env.h"

namespace broadloom {

class RewrappingVecEnv : public ForwardingVecEnv, public EnvMaker, public EpisodeWaves {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const final {
    std::unique_ptr<VecEnv> others = make_another(inner(), options);
    return others == nullptr ? nullptr : wrap(std::move(others), options);
  }

  bool can_begin_waves() const override { return episode_waves(inner()) != nullptr; }
  // Override it if the wrapper keeps something for each episode.
  Status begin_wave(int first) override { return episode_waves(inner())->begin_wave(first); }

 private:
  // Puts the same wrapper around others, which options made.
  virtual std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                                       const VecEnvOptions& options) const = 0;
};

}  // namespace broadloom
