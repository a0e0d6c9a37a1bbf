// Independent rollout blocks of a policy that does not learn.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

// Where blocks begin.
enum class Starts {
  kStationary,    // in states of the running, auto-resetting environment: all phases of episodes
  kSynchronised,  // at reset
};

// States of environments that the policy has been running in for a while.
//
// Made from many environments with staggered starts that are run for two time limits (1,000 steps
// each where there is none) and then looked at evenly over four more, so that each phase of an
// episode is as frequent as in a run without end. Starts are drawn from the pool with replacement:
// the pool's distribution is what all blocks share, and its size bounds how well it stands for
// the limit.
class StartPool {
 public:
  StartPool() = default;
  // kInvalidConfig where the environments do not save their state, or not an environment a row.
  // num_envs: environments that are looked at 64 times each.
  static Result<StartPool> create(const Policy& policy, std::uint64_t seed, ThreadPool& pool,
                                  int num_envs = kPoolEnvs);
  static constexpr int kPoolEnvs = 4096;

  // Puts every environment into a state of the pool; which, follows from the seed. Fails where the
  // environments cannot take it.
  Status draw(std::uint64_t seed, VecEnv& envs) const;

  std::int64_t size() const { return size_; }
  int burn_in() const { return burn_in_; }

 private:
  Status take(VecEnv& envs, std::int64_t first);

  std::int64_t size_ = 0;
  int burn_in_ = 0;
  std::vector<std::vector<unsigned char>> tensors_;  // of each tensor of the state, [size, bytes]
};

// A block, and what else the laboratory asks of it.
struct FrozenBlock : RolloutBlock {
  using RolloutBlock::RolloutBlock;
  Observations last_seen_by_critic;  // [N] what a critic reads of the observation after the block
  std::vector<int> ages;  // [N] steps that the episodes had before the block that it begins within
};

class BlockSource {
 public:
  // What the policy shows must outlive this. starts: null for synchronised ones. The seed decides
  // every block. max_episode_steps: of the environments; 0: that of the policy's.
  BlockSource(const Policy& policy, const StartPool* starts, std::uint64_t seed, ThreadPool& pool,
              int max_episode_steps = 0)
      : policy_(policy),
        starts_(starts),
        seed_(seed),
        pool_(pool),
        max_episode_steps_(max_episode_steps) {}

  // `copies` independent blocks side by side, [T, copies * N]: environments [c * N, (c + 1) * N)
  // are block c. Rewards are scaled as in training, values and bootstrap values set, advantages
  // not. Different rounds, and shapes, share no random number.
  Result<std::unique_ptr<FrozenBlock>> collect(BlockShape shape, int copies, std::uint64_t round);

 private:
  Policy policy_;
  const StartPool* starts_;
  std::uint64_t seed_;
  ThreadPool& pool_;
  int max_episode_steps_;
};

}  // namespace broadloom
