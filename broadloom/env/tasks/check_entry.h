// Checks of registry entries.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom {

// Whether an entry may join the registry. kInvalidConfig if a function is missing, the default
// options are refused, the id cannot name a folder, or the spec is invalid (spaces, names of end
// reasons).
Status check_entry(const EnvEntry& entry);
// Checks only the spec. Options may change it, so it is checked again with them.
Status check_spec(const EnvSpec& spec);

}  // namespace broadloom
