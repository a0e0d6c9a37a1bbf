// What a run asks of the simulator that it trains on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// kInvalidConfig where environments and config do not go together: observations, algorithm,
// curriculum, instruments, simulator. What is asked before anything else is made of a run.
Status check_fits(const Config& config, const VecEnv& envs);

// kInvalidConfig where the config asks for what the environments cannot give, with the settings
// that would do.
Status check_simulator(const Config& config, const VecEnvTraits& simulator);

// Whether each of so many ranks can step some of the environments, and say what they are in:
// kInvalidConfig where not.
Status check_ranks(const VecEnv& envs, int ranks);

// One environment of the run's, to see what it is like; errors as make_vec_env.
Result<std::unique_ptr<VecEnv>> make_one_env(const Config& config);

// What the environments cannot do and what follows for the run, a sentence each; empty for those
// of the library.
std::vector<std::string> simulator_limits(const VecEnvTraits& simulator);

}  // namespace broadloom
