// Whether an entry may join the registry.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/env/tasks/env_entry.h"

namespace broadloom {

// kInvalidConfig where a function is missing, the default options are refused, the id cannot name
// a folder, or the spaces or names of end reasons are none; names what was got, what was expected
// and what to do.
Status check_entry(const EnvEntry& entry);
// The last two of these alone: options may make others of them.
Status check_spec(const EnvSpec& spec);

}  // namespace broadloom
