// Registry entries of Broadloom's own robots.
#pragma once

#include <vector>

#include "broadloom/env/tasks/env_entry.h"

namespace broadloom::mujoco {

std::vector<EnvEntry> robot_tasks();

}  // namespace broadloom::mujoco
