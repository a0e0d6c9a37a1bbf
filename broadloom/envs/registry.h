// Environments by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// N environments of the given id. env_options: options of the environment, as list_env_options
// names them, and keys of strata (env/strata.h) and disturbances (env/disturbance.h). Errors name
// an unknown id or option with the nearest known one.
Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options);

// Specs of all environments, in the order of the registry.
std::vector<EnvSpec> list_envs();

// The spec of one, with its options' effect on spaces, and the time limit where one is given (0:
// its own); errors as make_vec_env.
Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps = 0);

// The options of one, with defaults, ranges and docs; errors as make_vec_env.
Result<std::vector<FieldInfo>> list_env_options(const std::string& id);

// The exact transition table of an environment that has one; time limits are no part of it, see
// EnvSpec::max_episode_steps. kInvalidConfig, with the ids that would do, where the environment has
// no table; other errors as make_vec_env.
Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options);

}  // namespace broadloom
