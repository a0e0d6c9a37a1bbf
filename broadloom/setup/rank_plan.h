// What ranks that train a run together have to do, and what each takes in, known beforehand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/config/config.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/setup/run_sizes.h"

namespace broadloom {

// Of rank 0 in one iteration; others take in less where they have more of the shards. Where shapes
// change, of the first one.
struct RankPlan {
  int ranks = 1;
  int collecting = 1;          // ranks that have environments to step
  int at_gradients = 1;        // ranks that work out a part of each gradient
  std::int64_t gradients = 0;  // minibatches, over all epochs
  // Bytes received, as if a companion (companion_size()) learnt from all samples.
  double block = 0.0, statistics = 0.0, gradient = 0.0;

  double received() const { return block + statistics + gradient; }
};

RankPlan plan_ranks(const Config& config, int ranks, const VecEnv& envs);

// Bytes that a rank holds to pass things on, beside what one process by itself holds.
std::size_t rank_bytes(const RunSizes& run, int ranks);

}  // namespace broadloom
