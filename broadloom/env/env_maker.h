// Capability: environments that make others of their kind. Instruments that look at probe states,
// and random network distillation, ask for it.
#pragma once

#include <memory>

#include "broadloom/env/vec_env.h"

namespace broadloom {

class EnvMaker {
 public:
  virtual ~EnvMaker() = default;

  // Others of the same kind, with the same constants, strata and, unless the options name one, time
  // limit, at the start of their first episodes. Null: these options cannot be had.
  virtual std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const = 0;
};

// As EnvMaker::another(); null, too, where the environments are no makers.
inline std::unique_ptr<VecEnv> make_another(const VecEnv& envs, const VecEnvOptions& options) {
  const auto* maker = capability<EnvMaker>(envs);
  return maker == nullptr ? nullptr : maker->another(options);
}

}  // namespace broadloom
