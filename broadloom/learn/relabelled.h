// Followers' samples that the leader learns from: SAPG, "split and aggregate policy gradients"
// (Singla, Agarwal and Pathak 2024, arXiv 2407.20230).
//
// Several policies share a network (NetworkShape::policies) and collect the block together, each in
// environments of its own. All learn from what they collected, as in PPO. In addition, the last
// policy, the leader, learns from samples of a few of the others, its followers. Such a relabelled
// sample has the leader's vector, and
//
//   old value      V(s) of the leader
//   target         r + gamma V(s'), one step; without V(s') after a termination
//   log-probability of the action: the follower's, which drew it
//
// These are the choices of the authors' code. Ours is that a truncated episode's s' is its final
// observation, as elsewhere; theirs adds the follower's gamma V(s) instead. Their code clips a
// relabelled sample's ratio r = pi / pi_follower to 1 +- clip_coef. The paper's equation 6 clips it
// to mu (1 +- clip_coef), mu = pi_old / pi_follower with the leader's policy before the update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

struct RelabelSettings {
  int followers = 0;            // of which the leader learns in each update; 0: none
  bool clips_by_paper = false;  // around mu, else around 1
  double gamma = 0.99;
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
};

class Relabelled {
 public:
  // Network and pool must outlive this.
  Relabelled(const ActorCritic& network, const RelabelSettings& settings, ThreadPool& pool);
  // Memory of one, bytes. sizes: of the run's block.
  static std::size_t bytes(const ActorCritic& network, const RelabelSettings& settings,
                           const BlockSizes& sizes, int threads);

  // Draws the followers from Random(seed, Purpose::kFollowers, 0, iteration), and computes values
  // and targets with params [P], which collected the block. values: of the trainer; null: none.
  // Allocates at new sizes only.
  void take(const RolloutBlock& block, const float* params, const ValueNormalizer* values,
            std::uint64_t seed, std::int64_t iteration);

  // [T, N'] with N' = followers * (N / policies): values, targets less values in `advantages`, and
  // with has_proximal() log_probs of the leader. Without observations and actions.
  const RolloutBlock& samples() const { return samples_; }
  // Row of the block from which sample v comes.
  std::size_t source(const RolloutBlock& block, std::size_t v) const {
    const auto width = static_cast<std::size_t>(samples_.N);
    return block.index(static_cast<int>(v / width), envs_[v % width]);
  }
  // Whether ratios are clipped around log_probs of samples(); for the block's own samples, around
  // the block's.
  bool has_proximal() const { return settings_.clips_by_paper; }
  // Flags of the block's rows and those of samples() after them; empty: none is a filler.
  const std::vector<std::uint8_t>& fillers() const { return fillers_; }
  const std::vector<int>& followers() const { return followers_; }  // of the last update

 private:
  struct Scratch {
    TileBatch<float> tile;
    TileWorkspace<float> work;
  };

  static BlockSizes sizes_of(const RelabelSettings& settings, const BlockSizes& block);
  void draw(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration);
  void copy_facts(const RolloutBlock& block);
  void value_tile(const RolloutBlock& block, const float* params, int tile, Scratch& scratch);
  void value_after(const RolloutBlock& block, const float* params);

  const ActorCritic& network_;
  RelabelSettings settings_;
  ThreadPool& pool_;
  PpoLoss loss_;  // reads samples
  RolloutBlock samples_;
  std::vector<int> followers_;  // a permutation; the first ones are drawn
  std::vector<int> envs_;       // [N'] of the block
  std::vector<std::uint8_t> fillers_;
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace broadloom
