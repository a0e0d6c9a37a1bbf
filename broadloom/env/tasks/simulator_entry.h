// The entry of a simulator of one's own, which steps its environments itself.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// N environments as the options ask: number, seed, streams, time limit and seed families are the
// simulator's to honour. A Status says why there are none.
using MakeSimulator = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

// The same with options of its own: names and texts, which it checks itself. options: what they
// are, for `env show`.
struct SimulatorWithOptions {
  std::function<Result<EnvSpec>(const Overrides&)> spec;
  std::function<Result<std::unique_ptr<VecEnv>>(const Overrides&, const VecEnvOptions&)> make;
  std::function<std::vector<FieldInfo>()> options;
};

// Where the default options are refused, there is no entry, but the reason.
Result<EnvEntry> simulator_entry(const SimulatorWithOptions& simulator);

// spec: what spec() of the environments says without a time limit in the options. The environments
// have no options of their own and no strata; disturbances are put around them.
EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make);

}  // namespace broadloom
