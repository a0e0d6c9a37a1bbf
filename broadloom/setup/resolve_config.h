// Makes a complete Config from overrides (TOML files, flags). Uses the registered environments and
// algorithms.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/config/needs.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Builds a complete config: takes the last env_id of the overrides, sets the defaults of that
// environment with its options (kNotFound if it is unknown), applies the overrides in order, and
// validates. The environment checks its options. Keys that do nothing are refused. Give overrides
// of files before those of flags, and register your own environments first. Keys of a dialect that
// do nothing for the task keep their defaults.
//
//   Overrides overrides = read_toml_overrides("cart.toml").take();
//   overrides.emplace_back("num_envs", "32");
//   Result<Config> config = resolve_config(overrides);
Result<Config> resolve_config(const Overrides& overrides);

// The same without the final checks, for callers that set more keys. Single keys are checked; rules
// between keys and the environment's options are not.
Result<Config> assemble_config(const Overrides& overrides);

// The final checks, without that of keys that do nothing.
Status check_config(const Config& config);

// The config of a checkpoint, manifest or ledger line. Keys that did not exist when it was written
// get the value that the program used then. Accepts keys that do nothing and an adaptive rate that
// cannot change, because such runs exist.
Result<Config> resolve_record(const Overrides& record);

// The defaults for that environment with its options, algorithm, encoder and dialect.
Config usual_config(const Config& config);

// key_uses() of the config that was assembled from these overrides.
Result<std::vector<KeyUse>> key_uses(const Overrides& overrides, const Config& config);

}  // namespace broadloom
