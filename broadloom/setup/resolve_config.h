// From overrides (TOML files, flags) to a whole Config. Knows which environments and algorithms
// exist.
#pragma once

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Builds a whole config: finds env_id among the overrides (the last one counts), takes the defaults
// of that environment under its options (kNotFound when there is no such environment), applies the
// overrides in order, validates, has the environment check its options, and refuses keys that
// nothing turns on. Give file overrides first and flags after them; register environments of your
// own before:
//
//   Overrides overrides = read_toml_overrides("cart.toml").take();
//   overrides.emplace_back("num_envs", "32");
//   Result<Config> config = resolve_config(overrides);
Result<Config> resolve_config(const Overrides& overrides);

// The same without the checks at the end, for those who set more keys: single keys are checked,
// rules between them and the environment's options are not.
Result<Config> assemble_config(const Overrides& overrides);

// Those checks.
Status check_config(const Config& config);

// Keys that do nothing because the one that turns them on was left out, which a whole config no
// longer shows: kInvalidConfig. Who sets that one to off may keep them, as records do, which hold
// every key. resolve_config() asks it; who uses assemble_config() does.
Status check_turned_on(const Overrides& overrides);

}  // namespace broadloom
