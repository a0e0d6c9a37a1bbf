// How many environments play a number of episodes.
#pragma once

#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// One an episode, or, where they can play in waves, at most as many as in training: a simulator may
// have a fixed size. options.num_envs: episodes. Errors: those of make_vec_env().
Result<int> lanes_of(const std::string& env_id, const Overrides& env_options,
                     const VecEnvOptions& options, int training_envs);

}  // namespace broadloom
