// What environments' first episodes begin with.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/instruments/audit/environments.h"

namespace broadloom {

// Where more than this share of the starts are alike, two that meet say nothing.
inline constexpr double kMostStartsAlike = 0.01;

// A hash of each environment's first observation, undisturbed, since noise would hide what is the
// same. Empty where observations are Discrete, and so few that equal ones say nothing. Errors as
// make_vec_env.
Result<std::vector<Fingerprint>> first_starts(const std::string& env_id,
                                              const Overrides& env_options,
                                              const VecEnvOptions& options);

}  // namespace broadloom
