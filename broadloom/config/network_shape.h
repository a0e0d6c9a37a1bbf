// The network that a configuration and an environment ask for.
#pragma once

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

NetworkShape network_shape(const Config& config, const EnvSpec& spec);

// kInvalidConfig where the configuration cannot learn from such observations.
Status check_observations(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
