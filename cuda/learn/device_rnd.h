// RND on a side (cuda/sides): target and predictor, novelty of a block, and the predictor's part in
// an update. Statistics and random draws stay on the host.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/rollout/block_shape.h"
#include "broadloom/rollout/explained_variance.h"
#include "broadloom/rollout/minibatches.h"
#include "cuda/collect/novelty_kernel.h"
#include "cuda/env/device_normalizer.h"
#include "cuda/learn/device_gradient.h"
#include "cuda/learn/device_parameters.h"

namespace broadloom::cuda {

template <class Side>
class DeviceRnd {
 public:
  // shape: of blocks. cut: of minibatches. ranks: see DeviceGradient. The network must
  // fit_kernels(). side and ranks must outlive this object.
  DeviceRnd(Side& side, const PpoRndSettings& settings, const BlockShape& shape,
            const MinibatchCut& cut, Ranks& ranks)
      : side_(side),
        settings_(settings),
        shape_(shape),
        cut_(cut),
        network_(settings.rnd.shape),
        statistics_(settings.rnd, shape.num_envs),
        draw_(settings.rnd.update_proportion, shape.batch()),
        normalizer_(side, &statistics_.observations(), std::array{shape}),
        runs_(side, device_network(network_).actor, shape.batch()),
        parameters_(side, device_network(network_)),
        most_(partials_of(cut.max_size())),
        gradient_(side, network_, {}, sizes(), ranks) {
    make_arrays();
  }

  RndStatistics& statistics() { return statistics_; }
  const PpoRndSettings& settings() const { return settings_; }
  DeviceParameters<Side>& parameters() { return parameters_; }

  // Computes a block's int_rewards, once all its observations are collected.
  void look(const DeviceRollout& block) {
    normalizer_.begin_block();
    const NextObservations next = block.next();
    const DeviceNetwork network = device_network(network_);
    runs_.run(shape_.batch(), [&](const RowRun& run) {
      return NoveltyKernel{network, target_,  parameters_.on_side(), {next, normalizer_.scale()},
                           run,     targets_, block.int_rewards};
    });
    if (statistics_.are_own()) normalizer_.add_up(next, true, block.T, block.N);
  }
  // Copies the block's sums of observations to the host. take_sums() then adds them to the sums
  // that commit() merges.
  void bring_sums() {
    if (statistics_.are_own()) normalizer_.bring_sums();
  }
  void take_sums() {
    if (statistics_.are_own()) normalizer_.take_sums();
  }
  // Takes intrinsic rewards that were copied to the host.
  void take_rewards(const RolloutBlock& block) {
    for (int s = 0; s < statistics_.shards().count(); ++s) statistics_.take_rewards(s, block);
    statistics_.finish_rewards(block);
  }

  // Call it before the first step of an update: draws the predictor's samples from orders [.., B],
  // which epochs take in turn.
  void draw(std::span<const std::int32_t> orders, std::uint64_t seed, std::int64_t iteration) {
    drawn_.clear();
    begins_ = {0};
    const std::size_t batch = static_cast<std::size_t>(shape_.batch());
    for (int epoch = 0; epoch < settings_.ppo.update_epochs; ++epoch) {
      draw_.begin_epoch(seed, iteration, epoch);
      const std::int32_t* const order =
          &orders[static_cast<std::size_t>(epoch) * batch % orders.size()];
      for (int m = 0; m < cut_.count(); ++m) {
        draw_.append(order + cut_.begin(m), cut_.size(m), drawn_);
        begins_.push_back(drawn_.size());
      }
    }
    side_.copy_in(indices_, drawn_.data(), drawn_.size());
  }
  // Computes the gradient of a step's minibatch, with the squares of its chunks. Both stay valid
  // until the next call.
  void make_gradient(const DeviceRollout& block, std::size_t step) {
    const int samples = samples_of(step);
    gradient_.run(block, {normalizer_.scale(), targets_}, parameters_.on_side(),
                  indices_ + begins_[step], nullptr, {samples, partials_of(samples)},
                  sums_ + step * static_cast<std::size_t>(most_));
  }
  const DeviceGradient<Side, RndKernelLoss>& gradient() const { return gradient_; }

  // Copies the sums of the steps taken to the host. The functions below then make the update's
  // numbers.
  void bring_reports(std::size_t taken) {
    brought_.resize(taken * static_cast<std::size_t>(most_));
    side_.copy_out(brought_.data(), sums_, brought_.size());
  }
  void begin_numbers() {
    losses_ = {};
    stats_ = {.int_reward = statistics_.mean_reward() * statistics_.reward_scale(),
              .int_reward_raw = statistics_.mean_reward()};
  }
  Status take_in(std::size_t step) {
    RndSums sums;
    const int samples = samples_of(step);
    const RndSums* const of_step = &brought_[step * static_cast<std::size_t>(most_)];
    for (int p = 0; p < partials_of(samples); ++p) sums.add(of_step[p]);
    return losses_.take(sums, samples);
  }
  // Call it after take_in() of all steps.
  void finish_numbers(const RolloutBlock& block, double int_value_loss) {
    statistics_.commit();
    stats_.int_value_loss = int_value_loss;
    stats_.int_explained = explained_variance(block.int_advantages, block.int_values);
    stats_.rnd_loss = losses_.mean();
  }
  const RndStats& numbers() const { return stats_; }

 private:
  int samples_of(std::size_t step) const {
    return static_cast<int>(begins_[step + 1] - begins_[step]);
  }
  // Partial gradients of a gradient, in the host's cut for minibatches up to the largest size.
  int partials_of(int samples) const {
    return partial_gradient_count(samples, network_.parameter_count());
  }
  // Any number of a minibatch's samples may be drawn.
  std::vector<GradientSize> sizes() const {
    std::vector<GradientSize> sizes;
    const int most = cut_.max_size();
    for (int tiles = 1; tiles <= tile_count(most); ++tiles) {
      const int samples = std::min(tiles * kTileRows, most);
      sizes.push_back({samples, partials_of(samples)});
    }
    return sizes;
  }

  void make_arrays() {
    const std::size_t batch = static_cast<std::size_t>(shape_.batch());
    const std::size_t epochs = static_cast<std::size_t>(settings_.ppo.update_epochs);
    std::vector<float> target(network_.parameter_count());
    network_.initialise(settings_.rnd.seed, target.data(), Purpose::kRndTarget);
    target_ = put_on(side_, target.data(), target.size());
    targets_ = side_.template allocate<float>(
        batch * static_cast<std::size_t>(settings_.rnd.shape.action_outputs));
    indices_ = side_.template allocate<std::int32_t>(epochs * batch);
    sums_ = side_.template allocate<RndSums>(epochs * static_cast<std::size_t>(cut_.count()) *
                                             static_cast<std::size_t>(most_));
  }

  Side& side_;
  PpoRndSettings settings_;
  BlockShape shape_;
  MinibatchCut cut_;
  ActorCritic network_;  // target and predictor, with parameters of their own
  RndStatistics statistics_;
  RndDraw draw_;
  DeviceNormalizer<Side> normalizer_;
  RowRuns<Side> runs_;
  DeviceParameters<Side> parameters_;  // the predictor's
  int most_;                           // partial gradients of a step
  DeviceGradient<Side, RndKernelLoss> gradient_;
  const float* target_ = nullptr;    // parameters
  float* targets_ = nullptr;         // [B, outputs] for next observations
  std::int32_t* indices_ = nullptr;  // samples that train the predictor, step by step
  RndSums* sums_ = nullptr;          // [steps, most_]
  std::vector<std::int32_t> drawn_;  // the same indices on the host
  std::vector<std::size_t> begins_;  // start of each step in them, and the end
  std::vector<RndSums> brought_;
  RndLosses losses_;
  RndStats stats_;
};

}  // namespace broadloom::cuda
