// Checks that a run and its simulator fit together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// kInvalidConfig if config and environments do not fit: observations, algorithm, curriculum,
// instruments or simulator. Called before anything else of a run is made.
Status check_fits(const Config& config, const VecEnv& envs);

// kInvalidConfig if the config needs something that the simulator lacks. The message names settings
// that work.
Status check_simulator(const Config& config, const VecEnv& envs);

// kInvalidConfig if the ranks cannot share the environments or save their states.
Status check_ranks(const VecEnv& envs, int ranks);

// Makes one environment of the run, to read its properties. Errors as in make_vec_env.
Result<std::unique_ptr<VecEnv>> make_one_env(const Config& config);

// Limits of the simulator and their consequences for the run, one sentence each; empty for the
// library's environments. can_begin_anew: VecEnv::can_begin_anew().
std::vector<std::string> simulator_limits(const VecEnvTraits& simulator, bool can_begin_anew);

}  // namespace broadloom
