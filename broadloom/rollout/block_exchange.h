// Exchanges block rows between ranks: each rank fills its own environments, and all get all rows.
#pragma once

#include <cstddef>
#include <span>

#include "broadloom/core/exchange.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Adds the arrays that a stage fills to the exchange. Rank r owns environments [env_bounds[r],
// env_bounds[r + 1]). Allocates nothing itself.
void add_arrays(RolloutBlock& block, BlockStage stage, std::span<const int> env_bounds,
                Exchange& exchange);

// Bytes per environment in the exchanged arrays.
std::size_t exchanged_bytes_per_env(const BlockSizes& sizes);

}  // namespace broadloom
