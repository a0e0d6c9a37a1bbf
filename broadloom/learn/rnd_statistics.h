// RND's running statistics of the predictor's observations and of intrinsic rewards.
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
  std::int64_t start_steps = 0;     // random steps per environment before the run, for statistics
  // Whether the predictor's observations have statistics of their own. Else the predictor reads the
  // policy's normalised observations.
  bool own_statistics = true;
};

class RndStatistics {
 public:
  RndStatistics(const RndSettings& settings, int num_envs);
  // Memory of one, bytes.
  static std::size_t bytes(const RndSettings& settings, int num_envs);

  // Initialises the observation statistics, its own or the policy's, by random play in new
  // environments of the same kind. Does nothing if they have samples already. Fails if no other
  // environments can be made. Allocates.
  Status begin_run(const VecEnv& envs, ObsNormalizer* policy_normalizer);

  const ShardPlan& shards() const { return shards_; }
  bool are_own() const { return own_; }
  // Normalises the predictor's observations. With the policy's statistics, it only clips.
  ObsNormalizer& observations() { return observations_; }
  const ObsNormalizer& observations() const { return observations_; }

  // Adds a shard's intrinsic rewards of a block. Different shards may run at the same time.
  void take_rewards(int shard, const RolloutBlock& block);
  // Called after all shards.
  void finish_rewards(const RolloutBlock& block);
  // Factor of intrinsic rewards: 1 / the running standard deviation of their discounted sums. Sums
  // run over time in each environment and continue across episode ends.
  double reward_scale() const;
  double mean_reward() const { return mean_reward_; }  // of the last block, before scaling

  // Called after the update: adds the block to the observation statistics.
  void commit() {
    if (own_) observations_.commit();
  }

  // After writing to the tensors, call state_restored().
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
