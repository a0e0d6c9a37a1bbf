// Questions about keys of a run by name, for those who hold a key's text and not a Config.
#pragma once

#include <string_view>

#include "broadloom/core/key_role.h"

namespace broadloom {

// Facts of a key. "env.<option>", "strata.<name>.<constant>" and "disturb.<name>" are of the task;
// Role::kNone: no key of this program, as may stand in a store of another one. O(log keys).
const KeyFacts& facts_of(std::string_view key);

// Whether it is a key of Config::env_options: an environment's option, a stratum or a disturbance.
bool is_env_option(std::string_view key);

inline Role role_of(std::string_view key) { return facts_of(key).role; }

}  // namespace broadloom
