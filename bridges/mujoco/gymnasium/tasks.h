// The MuJoCo tasks of Gymnasium 1.4.0, version 5.
#pragma once

#include <vector>

#include "broadloom/env/tasks/env_entry.h"

namespace broadloom::mujoco {

std::vector<EnvEntry> gymnasium_tasks();

}  // namespace broadloom::mujoco
