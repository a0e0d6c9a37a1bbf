// The running statistics of RND: of what its predictor sees, and of the intrinsic rewards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

struct RndSettings {
  std::uint64_t seed = 1;
  NetworkShape shape;  // of target and predictor: one body and one head (action_values)
  double int_gamma = 0.99;
  double update_proportion = 0.25;  // share of a minibatch that trains the predictor
  std::int64_t start_steps = 0;  // random play of every environment that the statistics begin with
  // Whether what the predictor sees has statistics of its own; else it is as the policy sees it,
  // normalised by the policy's.
  bool own_statistics = true;
};

class RndStatistics {
 public:
  RndStatistics(const RndSettings& settings, int num_envs);
  // That one holds.
  static std::size_t bytes(const RndSettings& settings, int num_envs);

  // Observation statistics, its own or else the policy's, from random play of environments of the
  // same kind, which are made for that: those that train stay as they are. Not where they know
  // observations already. Fails where there can be no others. Allocates.
  Status begin_run(const VecEnv& envs, ObsNormalizer* of_policy);

  const ShardPlan& shards() const { return shards_; }
  bool are_own() const { return own_; }
  // Through which the predictor sees; it only clips where the statistics are the policy's.
  ObsNormalizer& observations() { return observations_; }
  const ObsNormalizer& observations() const { return observations_; }

  // Takes in a shard's intrinsic rewards of a block. Different shards may do so at the same time.
  void take_rewards(int shard, const RolloutBlock& block);
  // Once all have.
  void finish_rewards(const RolloutBlock& block);
  // What an intrinsic reward is multiplied by: one over the running standard deviation of their
  // discounted sums, which run over time within each environment and over the ends of episodes.
  double reward_scale() const;
  double mean_reward() const { return mean_reward_; }  // of the last block, before scaling

  // Once the block is learnt from: those of observations take it in.
  void commit() {
    if (own_) observations_.commit();
  }

  // After they were written into, call state_restored().
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  void state_restored() { observations_.state_restored(); }

 private:
  std::uint64_t seed_;
  std::int64_t start_steps_;
  bool own_;
  ShardPlan shards_;
  ObsNormalizer observations_;
  RewardNormalizer rewards_;
  double mean_reward_ = 0.0;
};

}  // namespace broadloom
