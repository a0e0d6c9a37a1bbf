// Ranks as processes of an MPI launcher.
#pragma once

#include <memory>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Call it once per process and use the result from one thread. Its destructor ends MPI. If the work
// has failed, this ends all processes.
Result<std::unique_ptr<Ranks>> make_mpi_ranks(const RankOptions& options);

}  // namespace broadloom
