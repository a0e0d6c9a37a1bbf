// What the parts of a trainer are told of its configuration.
#pragma once

#include "broadloom/algo/ppo.h"
#include "broadloom/env/spec.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/train/config.h"

namespace broadloom {

PpoSettings ppo_settings(const Config& config);

// network: must outlive what is set up. threads: of the pool.
InstrumentSetup instrument_setup(const Config& config, const ActorCritic& network,
                                 const EnvSpec& spec, int threads);

}  // namespace broadloom
