// From overrides (TOML files, flags) to a whole Config. Knows which environments and algorithms
// exist.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/config/needs.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Builds a whole config: finds env_id among the overrides (the last one counts), takes the defaults
// of that environment under its options (kNotFound when there is no such environment), applies the
// overrides in order, validates, has the environment check its options, and refuses keys that do
// nothing. Give file overrides first and flags after them; register environments of your own
// before:
//
//   Overrides overrides = read_toml_overrides("cart.toml").take();
//   overrides.emplace_back("num_envs", "32");
//   Result<Config> config = resolve_config(overrides);
Result<Config> resolve_config(const Overrides& overrides);

// The same without the checks at the end, for those who set more keys: single keys are checked,
// rules between them and the environment's options are not.
Result<Config> assemble_config(const Overrides& overrides);

// Those checks, but for that of keys which do nothing.
Status check_config(const Config& config);

// The config that a checkpoint, manifest or ledger line names, whole or from before some keys were
// there: those have the value that the program of then used. Values that do nothing, and an
// adaptive rate that cannot move, are taken: such runs are there.
Result<Config> resolve_record(const Overrides& record);

// What a run on that environment, with its options, algorithm and encoder, has where nothing else
// is said.
Config usual_config(const Config& config);

// key_uses() in the config that was assembled from these overrides.
Result<std::vector<KeyUse>> key_uses(const Overrides& overrides, const Config& config);

}  // namespace broadloom
