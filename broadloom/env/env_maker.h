// Capability: environments that make more of their kind. Instruments with probe states and random
// network distillation use it.
#pragma once

#include <memory>

#include "broadloom/env/simulator_call.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class EnvMaker {
 public:
  virtual ~EnvMaker() = default;

  // Makes environments of the same kind, at the start of their first episodes. They have the same
  // constants, strata and time limit; the options may name another limit. Null: not possible with
  // these options.
  virtual std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const = 0;
};

// Calls EnvMaker::another(). Null if the environments lack the capability. Throws a SimulatorError
// if it throws.
inline std::unique_ptr<VecEnv> make_another(const VecEnv& envs, const VecEnvOptions& options) {
  const auto* maker = capability<EnvMaker>(envs);
  if (maker == nullptr) return nullptr;
  return name_exceptions(envs.spec().id, "another", [&] { return maker->another(options); });
}

}  // namespace broadloom
