#include "bridges/mujoco/quadruped/entry.h"

#include "bridges/mujoco/quadruped/quadruped.h"
#include "bridges/mujoco/task_entry.h"

namespace broadloom::mujoco {

std::vector<EnvEntry> robot_tasks() { return {task_entry<Quadruped>()}; }

}  // namespace broadloom::mujoco
