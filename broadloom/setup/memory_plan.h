// How much memory a run takes, known before any of it is.
#pragma once

#include <cstddef>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Bytes of what a trainer holds from its making to its end; nothing grows in between, and where a
// schedule changes the block's shape, each part is the largest that it becomes.
struct MemoryPlan {
  std::size_t block = 0;         // the rollout block: grows with N T
  std::size_t permutation = 0;   // of its samples: grows with N T
  std::size_t environments = 0;  // states, episode statistics, and what a simulator takes
  std::size_t normaliser = 0;    // of observations, with sums of each shard: grows with N D
  std::size_t network = 0;       // parameters and moments
  std::size_t update = 0;        // partial gradients, and transposed weights, one set a thread
  std::size_t collector = 0;     // scratch, one a thread
  std::size_t instruments = 0;
  std::size_t exchange = 0;  // what passes between ranks; none for one
  // What a device costs the host beside that: pages by which copies go to it and back, the next
  // update's permutations, states of environments, and what is said of an update's steps. What the
  // device itself holds is counted where it is made (train/device.h).
  std::size_t passing = 0;

  std::size_t total() const {
    return block + permutation + environments + normaliser + network + update + collector +
           instruments + exchange + passing;
  }
};

// The plan of Trainer::create(config, threads, ranks): of each of so many ranks. (With several, the
// update takes less than is planned.) Makes one environment to see how large it is.
Result<MemoryPlan> plan_memory(const Config& config, int threads, int ranks = 1);
// The same where environments are given; one: any of them, alone or with others.
MemoryPlan plan_memory(const Config& config, int threads, VecEnv& envs, int ranks = 1);

// Bytes that the run may plan to hold: the smaller of memory_limit and what the machine has; 0
// where neither is known.
std::size_t memory_allowed(const Config& config);

// Bytes of memory in this machine; 0 where that cannot be told.
std::size_t physical_memory();

}  // namespace broadloom
