#include "bridges/bridges.h"

#include <fmt/core.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/train/device.h"
#if BROADLOOM_WITH_CUDA
#include "cuda/cuda_device.h"
#endif
#if BROADLOOM_WITH_MPI
#include "bridges/mpi/mpi_ranks.h"
#endif
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

void register_cuda() {
#if BROADLOOM_WITH_CUDA
  register_device("cuda", cuda::make_cuda_device);
#endif
}

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

void register_bridges() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_mujoco();
    register_cuda();
  });
}

void add_package_folder([[maybe_unused]] const std::string& folder) {
#if BROADLOOM_WITH_MUJOCO
  mujoco::add_package_folder(folder);
#endif
}

// Slurm counts tasks of every step. They are ranks only if it has set up MPI for them.
int launched_processes() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (number_in(size) > 0) return number_in(size);
  }
  const bool has_mpi = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  return has_mpi && number_in("SLURM_STEP_NUM_TASKS") > 0 ? number_in("SLURM_STEP_NUM_TASKS") : 1;
}

Result<std::unique_ptr<Ranks>> make_ranks([[maybe_unused]] const RankOptions& options) {
#if BROADLOOM_WITH_MPI
  Result<std::unique_ptr<Ranks>> ranks = make_mpi_ranks(options);
  const int launched = launched_processes();
  if (!ranks.ok() || launched == 1 || ranks.value()->size() == launched) return ranks;
  return invalid(fmt::format(
      "the launcher started {} processes, but MPI sees {}, so they would not train together: the "
      "launcher belongs to another MPI than this program. Use mpirun of the program's MPI "
      "(docs/ranks.md), or give each process --ranks none and its own folder",
      launched, ranks.value()->size()));
#else
  return invalid(
      "this program was built without MPI, so each of these processes would train the same run; "
      "run `tools/setup.sh --mpi` and build again (docs/ranks.md), or give each process --ranks "
      "none and its own folder");
#endif
}

}  // namespace broadloom
