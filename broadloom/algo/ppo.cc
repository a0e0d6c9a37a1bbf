#include "broadloom/algo/ppo.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

// As torch's clip_grad_norm_. max_norm 0: never clipped.
double clip_scale(double norm, double max_norm) {
  return max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
}

double adapted_learning_rate(double rate, double kl, double desired_kl) {
  if (kl > 2.0 * desired_kl) return std::max(kLeastAdaptiveRate, rate / 1.5);
  if (kl > 0.0 && kl < 0.5 * desired_kl) return std::min(kMostAdaptiveRate, rate * 1.5);
  return rate;
}

Status check(const MinibatchReport& report, std::int64_t iteration) {
  const LossSums& sums = report.sums;
  const bool first = report.epoch == 0 && report.minibatch == 0;
  if (first && (sums.max_ratio_error != 0.0 || sums.approx_kl != 0.0)) {
    return {ErrorKind::kNumeric,
            fmt::format("the first minibatch of iteration {} has a policy ratio off 1 by {} and KL "
                        "{}; expected exactly 1 and 0. The parameters, observations or statistics "
                        "changed between collecting and updating, or are not finite.",
                        iteration, sums.max_ratio_error, sums.approx_kl / report.samples)};
  }
  if (std::isfinite(report.norm) && std::isfinite(sums.policy_loss + sums.value_loss)) return {};
  return {ErrorKind::kNumeric,
          fmt::format("loss or gradient is not finite at iteration {}, epoch {}, minibatch {} "
                      "(policy loss {}, value loss {}, gradient norm {}). Try a smaller "
                      "learning_rate, norm_reward, or norm_obs.",
                      iteration, report.epoch, report.minibatch, sums.policy_loss / report.samples,
                      sums.value_loss / report.samples, report.norm)};
}

// Means are sums until the update is over.
void add_to(UpdateStats& stats, const MinibatchReport& report) {
  const LossSums& sums = report.sums;
  stats.policy_loss += sums.policy_loss / report.samples;
  stats.value_loss += sums.value_loss / report.samples;
  stats.entropy += sums.entropy / report.samples;
  stats.old_approx_kl += sums.old_approx_kl / report.samples;
  stats.approx_kl += sums.approx_kl / report.samples;
  stats.clipfrac += sums.clipped / report.samples;
  stats.grad_norm += report.norm;
  stats.ess += sums.ess_percent(report.samples);
  stats.min_ratio = std::min(stats.min_ratio, sums.min_ratio);
  stats.max_ratio = std::max(stats.max_ratio, sums.max_ratio);
}

}  // namespace

Ppo::Ppo(const ActorCritic& network, const PpoSettings& settings, int batch_size,
         int minibatch_count, int observation_size, int action_size, ThreadPool& pool)
    : network_(network),
      pool_(pool),
      settings_(settings),
      minibatches_(batch_size, minibatch_count),
      lanes_(network, settings.loss, minibatches_.max_size(), observation_size, action_size, pool) {
}

void Ppo::reshape(int batch_size, int minibatch_count) {
  minibatches_ = Minibatches(batch_size, minibatch_count);
  lanes_.resize(minibatches_.max_size());
}

Status Ppo::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                   Learner& learner, UpdateStats& stats) {
  stats = {};
  if (settings_.norm_adv == AdvantageNorm::kBatch) {
    batch_advantages_ = advantage_shift(block, nullptr, static_cast<int>(block.size()));
  }
  params_version_ += 1;
  int steps = 0;
  for (int epoch = 0; epoch < settings_.update_epochs; ++epoch) {
    minibatches_.shuffle(seed, iteration, epoch);
    if (epoch == 0 && observer_ != nullptr) report_batch(block, learner);
    double last_kl = 0.0;
    for (int m = 0; m < minibatches_.count(); ++m, ++steps) {
      MinibatchReport report =
          gradient_of(block, minibatches_.indices(m), minibatches_.size(m), learner);
      report.epoch = epoch;
      report.minibatch = m;
      BROADLOOM_TRY(check(report, iteration));
      if (observer_ != nullptr) observer_->on_minibatch(report);
      last_kl = report.sums.approx_kl / report.samples;
      if (settings_.adaptive_lr) {
        learner.learning_rate =
            adapted_learning_rate(learner.learning_rate, last_kl, settings_.desired_kl);
      }
      take_step(report, learner);
      add_to(stats, report);
    }
    stats.epochs = epoch + 1;
    if (settings_.target_kl > 0.0 && last_kl > settings_.target_kl) break;
  }
  for (double* mean : {&stats.policy_loss, &stats.value_loss, &stats.entropy, &stats.old_approx_kl,
                       &stats.approx_kl, &stats.clipfrac, &stats.grad_norm, &stats.ess}) {
    *mean /= steps;
  }
  return {};
}

// The epoch's minibatches, put together, are the block.
void Ppo::report_batch(const RolloutBlock& block, const Learner& learner) {
  observer_->on_batch(
      gradient_of(block, minibatches_.indices(0), static_cast<int>(block.size()), learner));
}

MinibatchReport Ppo::gradient_of(const RolloutBlock& block, const std::int32_t* indices,
                                 int samples, const Learner& learner) {
  AdvantageShift advantages;
  if (settings_.norm_adv == AdvantageNorm::kMinibatch)
    advantages = advantage_shift(block, indices, samples);
  if (settings_.norm_adv == AdvantageNorm::kBatch) advantages = batch_advantages_;
  const GradientResult result =
      lanes_.compute({block, indices, samples, advantages, learner.params.data(),
                      learner.bf16_weights.data(), params_version_});
  MinibatchReport report;
  report.samples = samples;
  report.gradient = result.gradient;
  report.norm = result.norm;
  report.sums = result.sums;
  return report;
}

// Mean and 1 / (sample standard deviation + 1e-8), as CleanRL. A single sample has no deviation and
// is left as it is. indices null: the whole block in order.
AdvantageShift Ppo::advantage_shift(const RolloutBlock& block, const std::int32_t* indices,
                                    int samples) const {
  if (samples < 2) return {};
  const float* advantages = block.advantages.data();
  const auto sum_of = [&](auto term) {
    double chains[4] = {};
    const auto add = [&](int i, int chain) {
      chains[chain] += term(advantages[indices ? indices[i] : i]);
    };
    int i = 0;
    for (; i + 4 <= samples; i += 4) {
      for (int chain = 0; chain < 4; ++chain) add(i + chain, chain);
    }
    for (; i < samples; ++i) add(i, i % 4);
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  };
  const double mean = sum_of([](double x) { return x; }) / samples;
  const double squares = sum_of([mean](double x) { return (x - mean) * (x - mean); });
  return {static_cast<float>(mean),
          static_cast<float>(1.0 / (std::sqrt(squares / (samples - 1)) + 1e-8))};
}

// Clips to max_grad_norm; then Adam (Kingma and Ba 2015, arXiv 1412.6980, algorithm 1).
void Ppo::take_step(const MinibatchReport& report, Learner& learner) {
  learner.adam_steps += 1;
  AdamStep adam;
  adam.learning_rate = learner.learning_rate;
  adam.eps = settings_.adam_eps;
  adam.correction1 = 1.0 - portable::power(adam.beta1, learner.adam_steps);
  adam.correction2 = 1.0 - portable::power(adam.beta2, learner.adam_steps);
  adam.grad_scale = clip_scale(report.norm, settings_.max_grad_norm);
  learner.take_step(adam, report.gradient.data(), network_, lanes_.chunks(), pool_);
  params_version_ += 1;
}

}  // namespace broadloom
