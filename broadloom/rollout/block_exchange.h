// A block of which each rank has made the rows of its own environments, made whole everywhere.
#pragma once

#include <cstddef>
#include <span>

#include "broadloom/core/exchange.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Adds the arrays that a stage makes; rank r has environments [env_bounds[r], env_bounds[r + 1]).
// Allocates nothing itself.
void add_arrays(RolloutBlock& block, BlockStage stage, std::span<const int> env_bounds,
                Exchange& exchange);

// Bytes that an environment has in those arrays.
std::size_t exchanged_bytes_per_env(const BlockSizes& sizes);

}  // namespace broadloom
