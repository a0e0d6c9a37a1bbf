#include "bridges/mujoco/gymnasium/tasks.h"

#include "bridges/mujoco/gymnasium/ant.h"
#include "bridges/mujoco/gymnasium/half_cheetah.h"
#include "bridges/mujoco/gymnasium/hopper.h"
#include "bridges/mujoco/gymnasium/humanoid.h"
#include "bridges/mujoco/gymnasium/humanoid_standup.h"
#include "bridges/mujoco/gymnasium/inverted_double_pendulum.h"
#include "bridges/mujoco/gymnasium/inverted_pendulum.h"
#include "bridges/mujoco/gymnasium/pusher.h"
#include "bridges/mujoco/gymnasium/reacher.h"
#include "bridges/mujoco/gymnasium/swimmer.h"
#include "bridges/mujoco/gymnasium/walker2d.h"
#include "bridges/mujoco/task_entry.h"

namespace broadloom::mujoco {

// One line per task. bridges.cc lists the ids for builds without this bridge.
std::vector<EnvEntry> gymnasium_tasks() {
  return {task_entry<InvertedPendulum>(),
          task_entry<InvertedDoublePendulum>(),
          task_entry<Reacher>(),
          task_entry<Swimmer>(),
          task_entry<Hopper>(),
          task_entry<HalfCheetah>(),
          task_entry<Walker2d>(),
          task_entry<Ant>(),
          task_entry<Humanoid>(),
          task_entry<HumanoidStandup>(),
          task_entry<Pusher>()};
}

}  // namespace broadloom::mujoco
