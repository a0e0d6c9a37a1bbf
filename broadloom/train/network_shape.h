// The network that a configuration and an environment ask for.
#pragma once

#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/train/config.h"

namespace broadloom {

NetworkShape network_shape(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
