// Random network distillation (Burda et al. 2018, arXiv 1810.12894): a predictor learns the outputs
// of a fixed random network. Its error is large at novel observations and is the intrinsic reward.
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

// The seed determines the target network. The caller holds the predictor's parameters.
class Rnd final : public Companion {
 public:
  // For blocks of batch_size transitions of num_envs environments.
  Rnd(const RndSettings& settings, int num_envs, int batch_size, int largest_minibatch,
      ThreadPool& pool, Ranks& ranks = Ranks::alone());
  // Memory of one without the predictor's parameters, bytes.
  static std::size_t bytes(const RndSettings& settings, int num_envs, int batch_size,
                           int largest_minibatch, int threads);

  std::size_t parameter_count() const { return network_.parameter_count(); }
  // Writes the predictor's initial parameters, [parameter_count()].
  void initialise(float* predictor) const { network_.initialise(seed_, predictor, kPredictor); }

  // Sets block.int_rewards to rnd_errors() of the next observation of each transition; at an
  // episode's end, this is the next episode's first observation. Adds rewards and observations to
  // the statistics; those of observations take effect at commit().
  void take_block(const float* predictor, RolloutBlock& block);
  RndStatistics& statistics() { return statistics_; }
  const RndStatistics& statistics() const { return statistics_; }

  // Draws the share update_proportion of the samples (RndDraw).
  void begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) override {
    draw_.begin_epoch(seed, iteration, epoch);
  }
  // Fails if the first minibatch after take_block() does not give the same errors.
  Status measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                 const float* params, std::int64_t version) override;
  std::span<const float> gradient() const override { return measured_.gradient; }
  double norm() const override { return measured_.norm; }
  std::span<const ParameterRange> chunks() const override { return gradients_.chunks(); }
  // Mean over the minibatches since take_block().
  double loss() const { return losses_.mean(); }

 private:
  static constexpr Purpose kPredictor = Purpose::kRndPredictor;

  void take_rows(int shard, int thread, const float* predictor, RolloutBlock& block);
  void keep_targets(const AlignedVector<float>& tile, std::size_t tile_row, std::size_t rows,
                    std::size_t block_row);

  std::uint64_t seed_;
  ActorCritic network_;  // shared by target and predictor
  ThreadPool& pool_;
  Ranks& ranks_;
  RndStatistics statistics_;
  AlignedVector<float> target_;             // [P] of the target network
  AlignedVector<float> targets_;            // [B, outputs] for the block's next observations
  std::vector<TileWorkspace<float>> work_;  // [threads]
  std::vector<AlignedVector<float>> tile_targets_;  // [threads] of [outputs, kTileRows]
  RndDraw draw_;
  std::vector<std::int32_t> drawn_;  // the minibatch's samples that train the predictor
  PartialGradients<RndLoss> gradients_;
  GradientResult<RndLoss> measured_;
  RndLosses losses_;  // since take_block()
};

}  // namespace broadloom
