#include "cli/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "bridges/bridges.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

int processes_here() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}) {
    const char* text = std::getenv(variable);
    if (text != nullptr && std::atoi(text) > 0) return std::atoi(text);
  }
  return 1;
}

// Warns about tasks of srun without MPI: each trains its own run, perhaps by mistake.
void note_lonely_tasks() {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const char* own = std::getenv("SLURM_PROCID");
  if (tasks == nullptr || std::atoi(tasks) < 2 || (own != nullptr && std::atoi(own) != 0)) return;
  tell(
      stderr,
      "Note: Slurm has started {} tasks without MPI, and each trains its own run. To train one run "
      "together, use srun --mpi=pmix; to hide this note, use --ranks none\n",
      tasks);
}

}  // namespace

void add_rank_flags(Command command, RankFlags& flags) {
  command
      .add_option("--ranks", flags.ranks,
                  "auto: if mpirun or srun started several processes, they train one run together; "
                  "mpi: always do so; "
                  "none: this process trains its own run")
      .type_name("auto|mpi|none")
      .group("Command");
  command
      .add_option("--rank_timeout", flags.timeout,
                  "Seconds that a rank waits for another before the run ends; must exceed the time "
                  "of an evaluation; 0: no limit")
      .range(0.0, 1e9)
      .type_name("FLOAT")
      .group("Command");
}

Result<std::unique_ptr<Ranks>> make_requested_ranks(const RankFlags& flags) {
  if (flags.ranks != "auto" && flags.ranks != "mpi" && flags.ranks != "none") {
    return invalid(fmt::format("--ranks: got '{}', expected auto, mpi or none", flags.ranks));
  }
  const bool together = flags.ranks == "mpi" || (flags.ranks == "auto" && launched_processes() > 1);
  if (!together) {
    if (flags.ranks == "auto") note_lonely_tasks();
    return std::unique_ptr<Ranks>();
  }
  RankOptions options;
  options.timeout = flags.timeout;
  options.interrupted = was_interrupted;
  options.tell = [](const std::string& text) { tell(stderr, "{}: {}\n", program_name(), text); };
  return make_ranks(options);
}

int threads_per_rank(int requested, const Ranks& ranks) {
  const int mine = resolve_threads(requested);
  if (requested > 0 || ranks.size() == 1) return mine;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(mine, cores / processes_here()));
}

}  // namespace broadloom::cli
