// Environments of which this process knows the spec alone: a checkpoint describes those that its
// program registered, and those that need a file. A policy can be read without them; nobody can
// step them.
#pragma once

#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Makes env_spec() know this environment, while nobody has registered it or a file that it needs
// with these options is not here. make_vec_env() then fails with kNotFound. Replaces an older
// description, never a registration. kInvalidConfig if the spec is invalid.
Status describe_environment(const EnvSpec& spec, const Overrides& env_options = {});

// Whether other processes may lack it, so that what is to be read there must describe it.
bool needs_description(const EnvSpec& own);

// env_spec() as it would be if the environment's own spec were this one.
Result<EnvSpec> env_spec_of(const EnvSpec& own, const Overrides& env_options,
                            int max_episode_steps);

// The spec to describe: with the environment's own options, before wrappers. Errors of env_spec().
Result<EnvSpec> own_spec(const std::string& id, const Overrides& env_options);

}  // namespace broadloom
