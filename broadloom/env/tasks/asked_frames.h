// The frame stacks that options of an environment ask for.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/frame_stack.h"

namespace broadloom {

// The frames of each group of `spec`, the environment's spec under these options; 1: not stacked.
// Empty without groups. Ones if nothing is known of the environment.
std::vector<int> group_frames(const std::string& id, const Overrides& env_options,
                              const EnvSpec& spec);

}  // namespace broadloom
