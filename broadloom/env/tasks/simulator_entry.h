// Makes a registry entry for your own simulator, which steps its environments itself:
//
//   EnvSpec spec = ...;  // id, spaces, time limit
//   register_environment(simulator_entry(spec, [](const VecEnvOptions& options) {
//     return Result<std::unique_ptr<VecEnv>>(std::make_unique<MySimulator>(options));
//   }));
//
// MySimulator derives from VecEnv (env/vec_env.h); examples/whole_batch is a complete example.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Makes N environments. The simulator must follow the options' number, seed, streams, time limit
// and seed families. Returns a Status if it cannot.
using MakeSimulator = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

// A simulator with its own options (`--env.<option>`). It gets names and texts, and checks them
// itself.
struct SimulatorWithOptions {
  std::function<Result<EnvSpec>(const Overrides&)> spec;  // spec under given options
  // Makes N environments under given options.
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;  // as by list_fields(), for `env show`
};

// id: the spec's id, under all options. If simulator.spec() refuses empty options, the entry
// requires options.
EnvEntry simulator_entry(const std::string& id, const SimulatorWithOptions& simulator);

// spec: equals spec() of the environments without a time limit in the options. The environments
// have no own options and no strata. The library adds disturbances.
EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make);

}  // namespace broadloom
