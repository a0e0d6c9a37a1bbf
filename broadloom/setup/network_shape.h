// The network that follows from a configuration and an environment.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// From a value of the key `encoder`.
Encoder encoder_of(const std::string& name);

// The critic's own observations. Size 0 if the environments have none, or if the algorithm learns
// action values and has no separate critic.
const Space& critic_space(const Config& config, const EnvSpec& spec);

NetworkShape network_shape(const Config& config, const EnvSpec& spec);

// For RND's target and predictor: the policy's convolutions, other layers, ReLU, float32.
NetworkShape rnd_shape(const Config& config, const EnvSpec& spec);

// A sentence if encoder = mlp reads images; else empty.
std::string encoder_advice(const Config& config, const EnvSpec& spec);

// A sentence if a new policy (mean 0, standard deviation exp(log_std_init)) hardly reaches or
// explores the Box of actions; else empty.
std::string action_range_advice(const Config& config, const EnvSpec& spec);

// A sentence if actions are scaled to their bounds (env/action_scale.h); else empty.
std::string action_scale_advice(const EnvSpec& spec);

// kInvalidConfig if the configuration cannot learn from these observations.
Status check_observations(const Config& config, const EnvSpec& spec);

// Refuses a distribution that does not suit the actions: one that is scaled to the bounds of a Box
// without bounds.
Status check_actions(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
