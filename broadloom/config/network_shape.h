// The network that a configuration and an environment ask for.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

NetworkShape network_shape(const Config& config, const EnvSpec& spec);

// What a network knows of a space: "Discrete(3)" or "Box(4)".
std::string shape_text(const Space& space);
bool same_shape(const Space& a, const Space& b);

}  // namespace broadloom
