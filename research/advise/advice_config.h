// Advice as a config for `train`.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "research/advise/advice.h"

namespace broadloom {

// The whole config of the advised setting: `base` with its shape, minibatches, epochs and constant
// rate.
//
// total_timesteps stays if the caller set it. Otherwise several numbers may apply, and the largest
// counts: twice the slowest trial's steps to the threshold, the steps of the trials, the base's
// own. It is rounded up to whole blocks. Not for an advice of kNothing.
Config advised_config(const Config& base, const Overrides& given, const AdviceEvidence& evidence,
                      const Advice& advice);

// TOML from which read_toml_overrides() restores this config: all advised keys, and other keys that
// differ from the task's defaults. Comments on top state the findings.
std::string advice_toml(const Config& config, const Advice& advice);

}  // namespace broadloom
