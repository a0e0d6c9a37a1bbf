// Independent rollout blocks of a frozen policy.
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

// The states in which blocks begin.
enum class Starts {
  kStationary,    // in states of the running, auto-resetting environment: all phases of episodes
  kSynchronised,  // at reset
};

// States of environments in which the policy has acted for a while.
//
// Many environments with staggered starts run for two time limits (1,000 steps each if there is
// none). Their states are then sampled evenly over four more. Each phase of an episode is thus as
// frequent as in an endless run.
//
// Starts are drawn from the pool with replacement. All blocks share the pool's distribution, and
// its size bounds how well it represents the limit.
class StartPool {
 public:
  StartPool() = default;
  // kInvalidConfig if the environments do not save their state, or not one row per environment.
  static Status check(const Policy& policy);
  // Does not check(). num_envs: environments; each is sampled 64 times.
  static Result<StartPool> create(const Policy& policy, std::uint64_t seed, ThreadPool& pool,
                                  int num_envs = kPoolEnvs);
  static constexpr int kPoolEnvs = 4096;

  // Puts every environment into a state of the pool, chosen by the seed, and a policy with memory
  // into the state that it had there: states [N, S], or empty. Fails if the environments cannot
  // load it.
  Status draw(std::uint64_t seed, VecEnv& envs, std::vector<float>& states) const;

  std::int64_t size() const { return size_; }
  int burn_in() const { return burn_in_; }

 private:
  Status take(VecEnv& envs, const std::vector<float>& states, std::int64_t first);

  std::int64_t size_ = 0;
  int burn_in_ = 0;
  std::vector<std::vector<unsigned char>> tensors_;  // of each tensor of the state, [size, bytes]
  std::vector<float> memory_;                        // [size, S] of a policy with memory, or empty
};

// A block with further data for the laboratory.
struct FrozenBlock : RolloutBlock {
  using RolloutBlock::RolloutBlock;
  Observations last_seen_by_critic;  // [N] critic inputs of the observation after the block
  std::vector<int> ages;             // [N] steps of the episodes before the block
  // [T, N] V(s) - Q(s, a) of networks with action values, or empty. An error of their loss, target
  // minus Q(s, a), is the advantage plus this gap.
  std::vector<float> value_gaps;
  float value_gap(std::size_t i) const { return value_gaps.empty() ? 0.0f : value_gaps[i]; }
};

class BlockSource {
 public:
  // The objects that the policy refers to must outlive this one. starts: null for synchronised
  // starts. The seed decides every block. max_episode_steps: of the environments; 0: the policy's.
  BlockSource(const Policy& policy, const StartPool* starts, std::uint64_t seed, ThreadPool& pool,
              int max_episode_steps = 0)
      : policy_(policy),
        starts_(starts),
        seed_(seed),
        pool_(pool),
        max_episode_steps_(max_episode_steps) {}

  // `copies` independent blocks side by side, [T, copies * N]. Environments [c * N, (c + 1) * N)
  // are block c. Rewards are scaled as in training. Values and bootstrap values are set, advantages
  // are not. Different rounds and shapes share no random number.
  Result<std::unique_ptr<FrozenBlock>> collect(BlockShape shape, int copies, std::uint64_t round);

 private:
  Policy policy_;
  const StartPool* starts_;
  std::uint64_t seed_;
  ThreadPool& pool_;
  int max_episode_steps_;
};

}  // namespace broadloom
