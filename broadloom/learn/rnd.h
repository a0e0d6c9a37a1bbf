// Random network distillation (Burda et al. 2018, arXiv 1810.12894): what a network has not yet
// learnt to predict of another one's outputs is new, and visiting it a reward of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/companion.h"
#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/rnd_draw.h"
#include "broadloom/learn/rnd_loss.h"
#include "broadloom/learn/rnd_statistics.h"

namespace broadloom {

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

  // block.int_rewards: rnd_errors() at what each transition led to, in its environment's stream: at
  // an episode's end, at the next one's first observation. Takes them, and those observations, into
  // the statistics; those of observations only count from commit() on.
  void take_block(const float* predictor, RolloutBlock& block);
  RndStatistics& statistics() { return statistics_; }
  const RndStatistics& statistics() const { return statistics_; }

  // Of a share update_proportion of its samples (RndDraw).
  void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) override {
    draw_.begin_epoch(seed, iteration, epoch);
  }
  // Fails where the first minibatch after take_block() does not find the errors that it found.
  Status measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                 const float* params, std::int64_t version) override;
  std::span<const float> gradient() const override { return measured_.gradient; }
  double norm() const override { return measured_.norm; }
  std::span<const ParameterRange> chunks() const override { return gradients_.chunks(); }
  // Of the minibatches since take_block(), the mean.
  double loss() const { return losses_.mean(); }

 private:
  static constexpr Purpose kPredictor = Purpose::kRndPredictor;

  void take_rows(int shard, int thread, const float* predictor, RolloutBlock& block);
  void keep_targets(const AlignedVector<float>& tile, std::size_t from, std::size_t rows,
                    std::size_t to);

  std::uint64_t seed_;
  ActorCritic network_;  // target and predictor, under parameters of their own
  ThreadPool& pool_;
  Ranks& ranks_;
  RndStatistics statistics_;
  AlignedVector<float> target_;                     // parameters
  AlignedVector<float> targets_;                    // [B, outputs] of the block's next observations
  std::vector<TileWorkspace<float>> work_;          // [threads]
  std::vector<AlignedVector<float>> tile_targets_;  // [threads] of [outputs, kTileRows]
  RndDraw draw_;
  std::vector<std::int32_t> drawn_;  // samples of a minibatch that train the predictor
  PartialGradients<RndLoss> gradients_;
  GradientResult<RndLoss> measured_;
  RndLosses losses_;  // since take_block()
};

}  // namespace broadloom
