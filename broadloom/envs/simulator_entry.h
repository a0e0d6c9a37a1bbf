// The entry of a simulator of one's own, which steps its environments itself.
#pragma once

#include <functional>
#include <memory>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/envs/env_entry.h"

namespace broadloom {

// N environments as the options ask: number, seed, streams, time limit and seed families are the
// simulator's to honour. A Status says why there are none.
using MakeSimulator = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

// spec: what spec() of the environments says without a time limit in the options. The environments
// have no options of their own and no strata; disturbances are put around them. One with options
// fills in an EnvEntry itself.
EnvEntry simulator_entry(const EnvSpec& spec, const MakeSimulator& make);

}  // namespace broadloom
