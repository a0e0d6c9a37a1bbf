#include "broadloom/learn/ppo.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/learn/minibatch_update-inl.h"

namespace broadloom {

double adapted_learning_rate(double rate, double kl, double desired_kl, double least_rate) {
  // A rate outside the bounds stays as it is rather than move against the KL.
  if (kl > 2.0 * desired_kl) return std::min(rate, std::max(least_rate, rate / 1.5));
  if (kl > 0.0 && kl < 0.5 * desired_kl) {
    return std::max(rate, std::min(kMostAdaptiveRate, rate * 1.5));
  }
  return rate;
}

namespace {

struct Moments {
  double mean, squares;  // of advantages, and the sum of their squared deviations
  int samples;
};

// indices: [rows]; null: all rows of the block, and relabelled ones, in order.
Moments advantage_moments(const RolloutBlock& block, const PpoLoss& loss,
                          const std::int32_t* indices, int rows) {
  const int samples = indices ? rows : static_cast<int>(loss.transitions(block));
  const auto moments = [&](auto counts, auto advantage) {
    const auto sum_of = [&](auto term) {
      double chains[4] = {};
      const auto add = [&](int i, int chain) {
        if (counts(i)) chains[chain] += term(advantage(i));
      };
      int i = 0;
      for (; i + 4 <= rows; i += 4) {
        for (int chain = 0; chain < 4; ++chain) add(i + chain, chain);
      }
      for (; i < rows; ++i) add(i, i % 4);
      return (chains[0] + chains[1]) + (chains[2] + chains[3]);
    };
    const double mean = sum_of([](double x) { return x; }) / samples;
    const double squares = sum_of([mean](double x) { return (x - mean) * (x - mean); });
    return Moments{mean, squares, samples};
  };
  if (indices != nullptr && loss.relabelled == nullptr && !block.with_intrinsic) {
    // The usual case is free of tests, because all threads wait for it.
    const float* all = block.advantages.data();
    return moments([](int) { return true; }, [all, indices](int i) { return all[indices[i]]; });
  }
  return moments(
      [&](int i) { return indices || !loss.is_filler(block, static_cast<std::size_t>(i)); },
      [&](int i) {
        return loss.advantage(block, static_cast<std::size_t>(indices ? indices[i] : i));
      });
}

// Mean and 1 / (sample standard deviation + 1e-8), as in CleanRL. A single sample has no deviation
// and is not shifted.
AdvantageShift advantage_shift(const RolloutBlock& block, const PpoLoss& loss,
                               const std::int32_t* indices, int rows) {
  const Moments moments = advantage_moments(block, loss, indices, rows);
  if (moments.samples < 2) return {};
  return AdvantageShift::from_moments(moments.mean, moments.squares, moments.samples);
}

// Takes in the block first.
AdvantageShift running_shift(const RolloutBlock& block, const PpoLoss& loss,
                             const PpoSettings& settings, RunningMoments& running) {
  const Moments moments =
      advantage_moments(block, loss, nullptr, static_cast<int>(loss.samples(block)));
  running.add(moments.mean, moments.squares, moments.samples, settings.norm_adv_decay);
  return {static_cast<float>(running.mean()),
          static_cast<float>(1.0 / (std::sqrt(running.var()) + 1e-8))};
}

}  // namespace

// Numbers that are not finite come first: they also break the ratio.
Status check_minibatch(const MinibatchReport& report, const PpoSums& sums, std::int64_t iteration) {
  const double losses = sums.policy_loss + sums.value_loss + sums.int_value_loss;
  const bool has_ratios = std::isfinite(sums.max_ratio_error) && std::isfinite(sums.approx_kl);
  const bool first = report.epoch == 0 && report.minibatch == 0;
  if (!std::isfinite(report.clipped_norm) || !std::isfinite(losses) || (first && !has_ratios)) {
    return {
        ErrorKind::kNumeric,
        fmt::format("loss or gradient is not finite at iteration {}, epoch {}, minibatch {} "
                    "(policy loss {}, value loss {}, gradient norm {}). Try a smaller "
                    "learning_rate, norm_reward, or norm_obs.",
                    iteration, report.epoch, report.minibatch, sums.policy_loss / report.samples,
                    (sums.value_loss + sums.int_value_loss) / report.samples, report.clipped_norm)};
  }
  if (!first || (sums.max_ratio_error == 0.0 && sums.approx_kl == 0.0)) return {};
  return {ErrorKind::kNumeric,
          fmt::format(
              "the first minibatch of iteration {} has a policy ratio that differs from 1 by {} "
              "and KL {}; expected exactly 1 and 0. The parameters, observations or "
              "statistics changed between collection and update.",
              iteration, sums.max_ratio_error, sums.approx_kl / report.samples)};
}

namespace {

// Samples with ratios, at least 1.
double own_samples(const MinibatchReport& minibatch, const PpoSums& sums) {
  return std::max(1.0, minibatch.samples - sums.relabelled);
}

}  // namespace

void UpdateStats::add(const MinibatchReport& minibatch, const PpoSums& sums) {
  const double samples = minibatch.samples, own = own_samples(minibatch, sums);
  policy_loss += sums.policy_loss / samples;
  value_loss += sums.value_loss / samples;
  int_value_loss += sums.int_value_loss / samples;
  entropy += sums.entropy / samples;
  old_approx_kl += sums.old_approx_kl / own;
  approx_kl += sums.approx_kl / own;
  clipfrac += sums.clipped / own;
  grad_norm += minibatch.clipped_norm;
  if (sums.squared_ratios != 0.0) ess += sums.ess_percent(own);
  min_ratio = std::min(min_ratio, sums.min_ratio);
  max_ratio = std::max(max_ratio, sums.max_ratio);
}

void UpdateStats::finish(int steps) {
  for (double* mean : {&policy_loss, &value_loss, &int_value_loss, &entropy, &old_approx_kl,
                       &approx_kl, &clipfrac, &grad_norm, &ess}) {
    *mean /= steps;
  }
}

template class PartialGradients<PpoLoss>;
template class MinibatchUpdate<PpoLoss>;

Ppo::Ppo(const ActorCritic& network, const PpoSettings& settings, int batch_size,
         int minibatch_count, int observation_size, int action_size, ThreadPool& pool, Ranks& ranks)
    : settings_(settings),
      network_(network),
      update_(network, {settings.loss}, settings.minibatches(), batch_size, minibatch_count,
              observation_size, action_size, pool, ranks) {
  if (network.shape().has_log_std()) {
    update_.loss().old_log_std.resize(static_cast<std::size_t>(network.shape().box_size()));
  }
  if (settings.relabel.followers > 0) {
    relabelled_ = std::make_unique<Relabelled>(network, settings.relabel, pool);
    update_.loss().relabelled = relabelled_.get();
  }
}

std::size_t Ppo::bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                       int action_size, int threads) {
  return PartialGradients<PpoLoss>::bytes(network, largest_minibatch, observation_size, action_size,
                                          threads);
}

void Ppo::initialise(Learner& learner) {
  if (settings_.proximal_decay > 0.0) learner.proximal.allocate(network_.parameter_count());
  learner.has_advantages = settings_.norm_adv == AdvantageNorm::kRunning;
}

void Ppo::begin_block(double progress) {
  PpoCoefficients& loss = update_.loss().coefficients;
  if (settings_.clip_coef) loss.clip_coef = settings_.clip_coef->at(progress);
  if (settings_.ent_coef) loss.ent_coef = settings_.ent_coef->at(progress);
}

void Ppo::take_block(const Learner&, RolloutBlock& block) {
  const ValueNormalizer* values = update_.loss().values;
  if (values != nullptr) values->denormalize(block);
}

void Ppo::compute_targets(RolloutBlock& block, int begin, int end) const {
  compute_advantages(block, begin, end, settings_.gamma, settings_.gae_lambda,
                     settings_.truncation_mode, settings_.gae_weights);
}

Status Ppo::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                   Learner& learner) {
  stats_ = {};
  iteration_ = iteration;
  epoch_kl_ = 0.0;
  epoch_minibatches_ = 0;
  PpoLoss& loss = update_.loss();
  if (!loss.old_log_std.empty()) network_.log_std(learner.params.data(), loss.old_log_std.data());
  if (relabelled_) {
    relabelled_->take(block, learner.params.data(), loss.values, seed, iteration);
  }
  if (loss.values != nullptr) {
    loss.values->take(block, network_.value_head(), learner.params.data());
  }
  if (settings_.norm_adv == AdvantageNorm::kBatch) {
    batch_advantages_ =
        advantage_shift(block, loss, nullptr, static_cast<int>(loss.samples(block)));
  }
  if (settings_.norm_adv == AdvantageNorm::kRunning) {
    batch_advantages_ = running_shift(block, loss, settings_, learner.advantages);
  }
  if (settings_.proximal_decay > 0.0) {
    learner.proximal.begin(learner.params.data(), network_.parameter_count());
    loss.proximal = learner.proximal.mean.data();
  }
  BROADLOOM_TRY(update_.run(block, seed, iteration, learner, *this));
  stats_.finish(update_.steps());
  return {};
}

AdvantageShift Ppo::context(const RolloutBlock& block, const std::int32_t* indices, int samples) {
  switch (settings_.norm_adv) {
    case AdvantageNorm::kOff:
      return {};
    case AdvantageNorm::kMinibatch:
      return advantage_shift(block, update_.loss(), indices, samples);
    case AdvantageNorm::kBatch:
    case AdvantageNorm::kRunning:
      return batch_advantages_;
  }
  return {};
}

void Ppo::describe(const PpoSums& sums, MinibatchReport& report) const {
  report.entropy = sums.entropy / report.samples;
  report.ratios = sums;
}

std::span<const std::uint8_t> Ppo::fillers(const RolloutBlock& block) const {
  return relabelled_ ? relabelled_->fillers() : block.fillers;
}

Status Ppo::before_step(const MinibatchReport& minibatch, const PpoSums& sums, Learner& learner) {
  BROADLOOM_TRY(check_minibatch(minibatch, sums, iteration_));
  const double own = own_samples(minibatch, sums);
  last_kl_ = sums.approx_kl / own;
  const double kl = settings_.loss.analytic_kl ? sums.analytic_kl / own : last_kl_;
  if (!settings_.adapts_each_epoch) adapt_rate(kl, learner);
  epoch_kl_ += kl;
  epoch_minibatches_ += 1;
  stats_.add(minibatch, sums);
  return {};
}

void Ppo::after_step(Learner& learner) {
  if (settings_.proximal_decay == 0.0) return;
  learner.proximal.add(learner.params.data(), settings_.proximal_decay);
}

bool Ppo::goes_on(Learner& learner) {
  if (settings_.adapts_each_epoch) adapt_rate(epoch_kl_ / epoch_minibatches_, learner);
  epoch_kl_ = 0.0;
  epoch_minibatches_ = 0;
  return settings_.target_kl == 0.0 || last_kl_ <= settings_.target_kl;
}

void Ppo::adapt_rate(double kl, Learner& learner) const {
  if (!settings_.adaptive_lr) return;
  learner.learning_rate =
      adapted_learning_rate(learner.learning_rate, kl, settings_.desired_kl, settings_.least_rate);
}

}  // namespace broadloom
