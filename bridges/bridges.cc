#include "bridges/bridges.h"

#include <mutex>
#include <string>
#include <vector>

#include "broadloom/envs/registry.h"
#if BROADLOOM_WITH_MUJOCO
#include "bridges/mujoco/gymnasium/tasks.h"
#include "bridges/mujoco/library.h"
#include "bridges/mujoco/quadruped/entry.h"
#endif

namespace broadloom {
namespace {

void register_mujoco() {
#if BROADLOOM_WITH_MUJOCO
  for (EnvEntry& entry : mujoco::gymnasium_tasks()) register_built_in(std::move(entry));
  for (EnvEntry& entry : mujoco::robot_tasks()) register_built_in(std::move(entry));
#else
  announce_absent(
      {.ids = {"InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Swimmer-v5",
               "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5",
               "HumanoidStandup-v5", "Pusher-v5", "Quadruped-v0"},
       .simulator = "MuJoCo",
       .how_to_get = "run `tools/setup.sh --mujoco` and build again (docs/envs/MuJoCo.md)"});
#endif
}

}  // namespace

void register_bridges() {
  static std::once_flag once;
  std::call_once(once, register_mujoco);
}

void add_package_folder([[maybe_unused]] const std::string& folder) {
#if BROADLOOM_WITH_MUJOCO
  mujoco::add_package_folder(folder);
#endif
}

}  // namespace broadloom
