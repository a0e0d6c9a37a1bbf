// The layers and readers of an observation's groups, from a configuration.
#pragma once

#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// One per group of the observation; empty without groups. The configuration has passed
// check_groups().
std::vector<GroupShape> group_shapes(const Config& config, const EnvSpec& spec);

// A group's layers as group_encoders writes them: "straight", "nature/256".
std::string layers_text(const GroupShape& group);

// kInvalidConfig if keys name groups that are not there, leave one without a reader, or give one
// layers that cannot read it.
Status check_groups(const Config& config, const EnvSpec& spec);

// A sentence if an image is read as a vector; else empty.
std::string group_advice(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
