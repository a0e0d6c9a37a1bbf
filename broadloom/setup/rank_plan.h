// Plans the work of ranks that train a run together and the bytes that each receives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/config/config.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/setup/run_sizes.h"

namespace broadloom {

// For rank 0 in one iteration; ranks with more shards receive less. If the block's shape changes,
// for the first shape.
struct RankPlan {
  int ranks = 1;
  int collecting_ranks = 1;    // ranks that have environments to step
  int gradient_ranks = 1;      // ranks that compute a part of each gradient
  std::int64_t gradients = 0;  // minibatches of all epochs
  // Bytes received; assumes that a companion (companion_size()) learns from all samples.
  double block = 0.0, statistics = 0.0, gradient = 0.0;

  double received() const { return block + statistics + gradient; }
};

RankPlan plan_ranks(const Config& config, int ranks, const VecEnv& envs);

// Memory of a rank's messages, in addition to a single process, bytes.
std::size_t rank_bytes(const RunSizes& run, int ranks);

}  // namespace broadloom
