// The network that a configuration and an environment ask for.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Of a value of the config's `encoder`.
Encoder encoder_of(const std::string& name);

// What only the critic reads of these environments: of size 0 where they show nothing of the kind,
// and where the algorithm learns values of actions, which what acts gives itself.
const Space& critic_space(const Config& config, const EnvSpec& spec);

NetworkShape network_shape(const Config& config, const EnvSpec& spec);

// Of RND's target and predictor: the same convolutions, layers of their own, ReLU, in float32.
NetworkShape rnd_shape(const Config& config, const EnvSpec& spec);

// A sentence where images are read as rows of numbers; otherwise empty.
std::string better_encoder(const Config& config, const EnvSpec& spec);

// A sentence where a new policy, whose actions have mean 0 and deviation exp(log_std_init), hardly
// reaches the Box of actions or hardly explores it; otherwise empty.
std::string far_actions(const Config& config, const EnvSpec& spec);

// kInvalidConfig where the configuration cannot learn from such observations.
Status check_observations(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
