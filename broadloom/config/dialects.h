// The key `dialect`: the choices of another library's PPO, all at once.
//
// Each dialect is a file of configs/dialects, which the build compiles in. A user's own keys win
// over it. A record has every key, so it needs no dialect: there, the name only says where the
// values came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// "none", then the libraries.
std::vector<std::string> dialect_names();

// The keys of a dialect, in the order of its file. Empty for "none" and for an unknown name.
Result<Overrides> dialect_keys(std::string_view name);

}  // namespace broadloom
