// Environments of which this process knows the spec alone: a checkpoint describes those that its
// program registered. A policy can be read without them; nobody can step them.
#pragma once

#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Makes env_spec() know this environment while nobody has registered it. make_vec_env() then says
// how to register it. Replaces an older description, never a registration. kInvalidConfig if the
// spec is invalid.
Status describe_environment(const EnvSpec& spec);

// Whether nobody has registered it and a description is all that is known.
bool is_only_described(const std::string& id);

// env_spec() as it would be if the environment's own spec were this one.
Result<EnvSpec> env_spec_of(const EnvSpec& own, const Overrides& env_options,
                            int max_episode_steps);

// The spec to describe: with the environment's own options, before wrappers. Errors of env_spec().
Result<EnvSpec> own_spec(const std::string& id, const Overrides& env_options);

}  // namespace broadloom
