// Compares the first observations of environments.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/audit/environments.h"

namespace broadloom {

// If a larger share of starts is equal by chance, equal starts prove nothing.
inline constexpr double kMostStartsAlike = 0.01;

// A hash of each environment's first observation. Disturbances are off, as noise would hide equal
// starts. Empty for Discrete observations, which are often equal by chance. training_envs: of the
// run; simulators of others may make no more at once. Errors: those of make_vec_env.
Result<std::vector<Fingerprint>> first_starts(const std::string& env_id,
                                              const Overrides& env_options,
                                              const VecEnvOptions& options, int training_envs);

}  // namespace broadloom
