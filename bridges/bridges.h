// Adapters to external software (simulators, MPI, CUDA). Each is a build option.
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Registers the adapters of this build: a training device, environments as the library's own, and
// ids of absent environments, whose errors say how to get them. Repeated calls change nothing. Ids
// that the program has registered before stay the program's.
void register_bridges();

// Adds a folder of Python packages to search for simulators, before the folders found by the build.
// The last folder added comes first. Call it before making such environments.
void add_package_folder(const std::string& folder);

// Number of processes that the launcher (mpirun, srun) started, read from environment variables; 1
// without a launcher.
int launched_processes();

// Connects these processes as ranks over MPI. Call it once per process; the result ends MPI when it
// is destroyed. kInvalidConfig if this build has no MPI.
Result<std::unique_ptr<Ranks>> make_ranks(const RankOptions& options);

}  // namespace broadloom
