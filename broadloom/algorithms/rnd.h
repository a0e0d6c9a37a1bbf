// Random network distillation (Burda et al. 2018, arXiv 1810.12894): what a network has not yet
// learnt to predict of another one's outputs is new, and visiting it a reward of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/algo/companion.h"
#include "broadloom/algo/partial_gradients.h"
#include "broadloom/algorithms/rnd_loss.h"
#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
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

// The target network follows from the seed. The predictor's parameters are the caller's.
class Rnd final : public Companion {
 public:
  // For blocks of batch_size transitions of num_envs environments.
  Rnd(const RndSettings& settings, int num_envs, int batch_size, int largest_minibatch,
      ThreadPool& pool, Ranks& ranks = Ranks::alone());
  // What one takes, in bytes, without the predictor's parameters.
  static std::size_t bytes(const RndSettings& settings, int num_envs, int batch_size,
                           int largest_minibatch, int threads);

  std::size_t parameter_count() const { return network_.parameter_count(); }
  // The predictor as it begins, [parameter_count()].
  void initialise(float* predictor) const { network_.initialise(seed_, predictor, kPredictor); }

  // Observation statistics, its own or else the policy's, from random play of environments of the
  // same kind, which are made for that: those that train stay as they are. Not where they know
  // observations already. Fails where there can be no others. Allocates.
  Status begin_run(const VecEnv& envs, ObsNormalizer* of_policy);

  // block.int_rewards: rnd_errors() at what each transition led to, in its environment's stream: at
  // an episode's end, at the next one's first observation. Takes them, and those observations, into
  // the statistics; those of observations only count from commit() on.
  void take_block(const float* predictor, RolloutBlock& block);
  // What an intrinsic reward is multiplied by: one over the running standard deviation of their
  // discounted sums, which run over time within each environment and over the ends of episodes.
  double reward_scale() const;
  double mean_reward() const { return mean_reward_; }  // of the last block, before scaling

  // Once the block is learnt from: observation statistics take it in.
  void commit() {
    if (own_statistics_) observations_.commit();
  }

  // Of a share update_proportion of its samples, drawn anew for every epoch from the streams (seed,
  // kRndMask, epoch, iteration); of one, at least.
  void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) override;
  // Fails where the first minibatch after take_block() does not find the errors that it found.
  Status measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                 const float* params, std::int64_t version) override;
  std::span<const float> gradient() const override { return measured_.gradient; }
  double norm() const override { return measured_.norm; }
  std::span<const ParameterRange> chunks() const override { return gradients_.chunks(); }
  // Of the minibatches since take_block(), the mean.
  double loss() const { return steps_ > 0 ? loss_ / steps_ : 0.0; }

  // Statistics; after they were written into, call state_restored().
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  void state_restored() { observations_.state_restored(); }

 private:
  static constexpr Purpose kPredictor = Purpose::kRndPredictor;

  void take_rows(int shard, int thread, const float* predictor, RolloutBlock& block);
  void keep_targets(const AlignedVector<float>& tile, std::size_t from, std::size_t rows,
                    std::size_t to);

  std::uint64_t seed_;
  ActorCritic network_;  // target and predictor, under parameters of their own
  ShardPlan shards_;
  ThreadPool& pool_;
  Ranks& ranks_;
  double update_proportion_;
  std::int64_t start_steps_;
  bool own_statistics_;
  AlignedVector<float> target_;   // parameters
  AlignedVector<float> targets_;  // [B, outputs] of the block's next observations
  ObsNormalizer observations_;    // which only clips where it has no statistics of its own
  RewardNormalizer rewards_;
  std::vector<TileWorkspace<float>> work_;          // [threads]
  std::vector<AlignedVector<float>> tile_targets_;  // [threads] of [outputs, kTileRows]
  std::vector<std::uint8_t> is_drawn_;              // [B] whether a sample trains the predictor
  std::vector<std::int32_t> drawn_;                 // those of a minibatch
  PartialGradients<RndLoss> gradients_;
  GradientResult<RndLoss> measured_;
  double mean_reward_ = 0.0;
  double loss_ = 0.0;
  int steps_ = 0;
  bool is_first_ = false;  // no minibatch since take_block()
};

}  // namespace broadloom
