// Advice as a config that `train` takes.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "research/advise/advice.h"

namespace broadloom {

// The whole config of the advised setting: `base` with its shape, minibatches, epochs and constant
// rate. total_timesteps stays where the caller set it; else it is twice the steps that the slowest
// trial took to the threshold, or as many as the trials made, or the base's own, whichever is the
// most of those that apply, in whole blocks. Not for an advice of kNothing.
Config advised_config(const Config& base, const Overrides& given, const AdviceEvidence& evidence,
                      const Advice& advice);

// TOML that read_toml_overrides() gives this config back from: what differs from the task's
// defaults, and all that is advised, under comments that say what was found.
std::string advice_toml(const Config& config, const Advice& advice);

}  // namespace broadloom
