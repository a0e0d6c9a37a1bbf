// Makes a registry entry of a simulator of your own, which steps its environments itself:
//
//   EnvSpec spec = ...;  // id, spaces, time limit
//   register_environment(simulator_entry(spec, [](const VecEnvOptions& options) {
//     return Result<std::unique_ptr<VecEnv>>(std::make_unique<MySimulator>(options));
//   }));
//
// MySimulator derives from VecEnv (env/vec_env.h); examples/whole_batch is a whole one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// N environments as the options ask: number, seed, streams, time limit and seed families are the
// simulator's to honour. A Status says why there are none.
using MakeSimulator = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

// A simulator with options of its own (`--env.<option>`): names and texts, which it checks itself.
struct SimulatorWithOptions {
  std::function<Result<EnvSpec>(const Overrides&)> spec;  // under these options
  // N environments under these options.
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;  // list_fields() of them, for `env show`
};

// id: that of the spec under any options. simulator.spec() may refuse to go without options: then
// the entry wants options.
EnvEntry simulator_entry(const std::string& id, const SimulatorWithOptions& simulator);

// spec: what spec() of the environments says without a time limit in the options. The environments
// have no options of their own and no strata; disturbances are put around them.
EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make);

}  // namespace broadloom
