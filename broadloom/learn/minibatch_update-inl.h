// Definitions of MinibatchUpdate, included by the file of each algorithm.
#pragma once

#include <algorithm>
#include <cmath>

#include "broadloom/learn/clip_scale.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/learn/partial_gradients-inl.h"

namespace broadloom {

template <class Loss>
MinibatchUpdate<Loss>::MinibatchUpdate(const ActorCritic& network, const Loss& loss,
                                       const MinibatchSettings& settings, int batch_size,
                                       int minibatch_count, int observation_size, int action_size,
                                       ThreadPool& pool, Ranks& ranks)
    : network_(network),
      pool_(pool),
      ranks_(ranks),
      settings_(settings),
      minibatches_(batch_size, minibatch_count, settings.steps_together,
                   sequences_per_tile(network.shape().recurrent, settings.steps_together),
                   settings.shuffle),
      gradients_(network, loss, minibatches_.max_size(), observation_size, action_size, pool,
                 ranks) {}

template <class Loss>
Status MinibatchUpdate<Loss>::run(const RolloutBlock& block, std::uint64_t seed,
                                  std::int64_t iteration, Learner& learner, Rules& rules) {
  params_version_ += 1;
  epochs_ = steps_ = 0;
  while (epochs_ < settings_.update_epochs) {
    minibatches_.shuffle(seed, iteration, epochs_, rules.fillers(block), block.N);
    if (companion_ != nullptr) companion_->begin_epoch(seed, iteration, epochs_);
    if (epochs_ == 0 && observer_ != nullptr) report_batch(block, learner, rules);
    for (int m = 0; m < minibatches_.count(); ++m, ++steps_) {
      measure(block, minibatches_.indices(m), minibatches_.size(m), learner, rules);
      measured_.report.epoch = epochs_;
      measured_.report.minibatch = m;
      BROADLOOM_TRY(ranks_.status());
      BROADLOOM_TRY(measure_companion(block, m, learner));
      BROADLOOM_TRY(take_step(learner, rules));
    }
    epochs_ += 1;
    if (!rules.goes_on(learner)) break;
  }
  return {};
}

// The minibatches of an epoch together are all transitions of the block.
template <class Loss>
void MinibatchUpdate<Loss>::report_batch(const RolloutBlock& block, const Learner& learner,
                                         Rules& rules) {
  measure(block, minibatches_.indices(0), minibatches_.samples(), learner, rules);
  observer_->on_batch(measured_.report);
}

template <class Loss>
void MinibatchUpdate<Loss>::measure(const RolloutBlock& block, const std::int32_t* indices,
                                    int samples, const Learner& learner, Rules& rules) {
  const GradientResult<Loss> result =
      gradients_.compute({block, indices, samples, rules.context(block, indices, samples),
                          learner.params.data(), params_version_});
  measured_.sums = result.sums;
  measured_.side_norms = result.side_norms;
  measured_.report = {};
  measured_.report.samples = samples;
  measured_.report.gradient = result.gradient;
  measured_.report.norm = measured_.report.clipped_norm = result.norm;
  rules.describe(measured_.sums, measured_.report);
}

template <class Loss>
Status MinibatchUpdate<Loss>::measure_companion(const RolloutBlock& block, int minibatch,
                                                const Learner& learner) {
  if (companion_ == nullptr) return {};
  BROADLOOM_TRY(companion_->measure(block, minibatches_.indices(minibatch),
                                    minibatches_.size(minibatch), learner.companion(),
                                    params_version_));
  const double network = measured_.report.norm, companion = companion_->norm();
  measured_.report.clipped_norm = std::sqrt(network * network + companion * companion);
  return {};
}

// Clips to max_grad_norm and takes the optimiser's step.
template <class Loss>
Status MinibatchUpdate<Loss>::take_step(Learner& learner, Rules& rules) {
  const MinibatchReport& report = measured_.report;
  BROADLOOM_TRY(rules.before_step(report, measured_.sums, learner));
  if (observer_ != nullptr) observer_->on_minibatch(report);
  learner.adam_steps += 1;
  AdamStep adam = optimizer_step(settings_.optimizer, learner.learning_rate, settings_.adam_eps,
                                 learner.adam_steps, settings_.betas);
  adam.grad_scale = clip_scale(report.clipped_norm, settings_.max_grad_norm);
  if (!settings_.clips_sides_apart) {
    learner.take_step(adam, report.gradient.data(), gradients_.chunks(), pool_);
  } else {
    for (std::size_t side = 0; side < 2; ++side) {
      adam.grad_scale = clip_scale(measured_.side_norms[side], settings_.max_grad_norm);
      learner.take_step(adam, report.gradient.data(), gradients_.side_chunks(side), pool_);
    }
  }
  if (companion_ != nullptr) {
    learner.take_companion_step(adam, companion_->gradient().data(), companion_->chunks(), pool_);
  }
  params_version_ += 1;
  rules.after_step(learner);
  return {};
}

}  // namespace broadloom
