// Looks up facts of keys by name, without a Config.
#pragma once

#include <string_view>

#include "broadloom/core/key_role.h"

namespace broadloom {

// Facts of a key. "env.<option>", "strata.<name>.<constant>" and "disturb.<name>" have Role::kTask.
// Unknown keys, such as those of another version's store, have Role::kNone. O(log keys).
const KeyFacts& facts_of(std::string_view key);

// Whether it is a key of Config::env_options: an environment option, a stratum or a disturbance.
bool is_env_option(std::string_view key);

inline Role role_of(std::string_view key) { return facts_of(key).role; }

}  // namespace broadloom
