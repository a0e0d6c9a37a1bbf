// Plans the memory of a run before any is allocated.
#pragma once

#include <cstddef>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Memory that a trainer holds from start to end, bytes. Nothing grows in between. If a schedule
// changes the block's shape, each part has its largest size.
struct MemoryPlan {
  std::size_t block = 0;         // the rollout block: grows with N T
  std::size_t permutation = 0;   // of samples: grows with N T
  std::size_t environments = 0;  // states, episode statistics and simulator memory
  std::size_t normaliser = 0;    // of observations, with sums per shard: grows with N D
  std::size_t network = 0;       // parameters and Adam moments
  std::size_t update = 0;        // partial gradients, and transposed weights per thread
  std::size_t collector = 0;     // scratch per thread
  std::size_t instruments = 0;
  std::size_t exchange = 0;  // messages between ranks; 0 for one rank
  // CPU memory for a GPU: pages for copies, the next update's permutations, environment states and
  // sums of an update's steps. train/device.h counts the GPU's own memory.
  std::size_t passing = 0;

  std::size_t total() const {
    return block + permutation + environments + normaliser + network + update + collector +
           instruments + exchange + passing;
  }
};

// The plan of Trainer::create(config, threads, ranks), for each rank. (With several ranks, the
// update needs less than planned.) Makes one environment to measure its size.
Result<MemoryPlan> plan_memory(const Config& config, int threads, int ranks = 1);
// The same for given environments of any number.
MemoryPlan plan_memory(const Config& config, int threads, VecEnv& envs, int ranks = 1);

// Bytes that the run may use: the smaller of memory_limit and available_memory(); 0 if neither is
// known.
std::size_t memory_allowed(const Config& config);

}  // namespace broadloom
