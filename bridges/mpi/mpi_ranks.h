// Ranks that are processes which an MPI launcher has started.
#pragma once

#include <memory>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Once a process, which is the one thread that uses it: what it gives ends MPI when it is
// destroyed, and all processes with it where their work has failed.
Result<std::unique_ptr<Ranks>> make_mpi_ranks(const RankOptions& options);

}  // namespace broadloom
