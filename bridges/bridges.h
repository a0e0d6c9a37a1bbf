// Adapters to what others have made, simulators, MPI and CUDA, each an option of the build.
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Makes known what this build has of them: a device that trains, environments as the library's own,
// and of the others the ids, so that who asks for one is told how to get it. Once a process; more
// often changes nothing. An id that the program has registered already stays the program's.
void register_bridges();

// A folder in which Python's packages lie, to look for simulators there before where the build
// found them; the last one added comes first. Before environments of theirs are made.
void add_package_folder(const std::string& folder);

// Processes that a launcher (mpirun, srun) has started this one among, by what it says in the
// environment; 1 where it was started by itself.
int launched_processes();

// Those processes as ranks, over MPI. Once a process, which ends MPI with it. kInvalidConfig where
// this build has no MPI.
Result<std::unique_ptr<Ranks>> make_ranks(const RankOptions& options);

}  // namespace broadloom
