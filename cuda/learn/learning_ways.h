// PPO and PQN for DeviceLearning: losses, acting, decisions between steps, and settings from a
// config.
#pragma once

#include <span>

#include "broadloom/config/config.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/pqn.h"
#include "broadloom/setup/settings.h"
#include "cuda/collect/acting.h"
#include "cuda/learn/device_update.h"
#include "cuda/learn/kernel_losses.h"

namespace broadloom::cuda {

struct PpoWay final : StepRules<PpoSums> {
  using Loss = PpoKernelLoss;
  using Stats = UpdateStats;

  explicit PpoWay(const Config& config) : settings(ppo_settings(config)) {}
  Loss loss() const { return {settings.loss}; }
  MinibatchSettings minibatches() const { return settings.minibatches(); }
  AdvantageNorm norm() const { return settings.norm_adv; }
  GaeWeights gae_weights() const { return settings.gae_weights; }
  void begin_block(double progress, Loss& loss) const {
    if (settings.clip_coef) loss.coefficients.clip_coef = settings.clip_coef->at(progress);
    if (settings.ent_coef) loss.coefficients.ent_coef = settings.ent_coef->at(progress);
  }
  static PolicyActing acting(int) { return {}; }
  static void complete(Stats&) {}
  // Fills in an observer's report from the sums.
  static void describe(const PpoSums& sums, MinibatchReport& report) {
    report.entropy = sums.entropy / report.samples;
    report.ratios = sums;
  }

  bool looks_at_steps() const override {
    return settings.adaptive_lr && !settings.adapts_each_epoch;
  }
  double rate(const StepSums<PpoSums>& step, double before) const override {
    return adapted(before, followed_kl(step));
  }
  bool looks_at_epochs() const override { return settings.target_kl != 0.0 || adapts_each_epoch(); }
  bool goes_on(std::span<const StepSums<PpoSums>> epoch, double& rate) const override {
    if (adapts_each_epoch()) {
      double sum = 0.0;
      for (const StepSums<PpoSums>& step : epoch) sum += followed_kl(step);
      rate = adapted(rate, sum / static_cast<double>(epoch.size()));
    }
    const StepSums<PpoSums>& last = epoch.back();
    return settings.target_kl == 0.0 || last.sums.approx_kl / last.samples <= settings.target_kl;
  }

  PpoSettings settings;

 private:
  bool adapts_each_epoch() const { return settings.adaptive_lr && settings.adapts_each_epoch; }
  // The KL that the adaptive rate follows.
  double followed_kl(const StepSums<PpoSums>& step) const {
    const PpoSums& sums = step.sums;
    return (settings.loss.analytic_kl ? sums.analytic_kl : sums.approx_kl) / step.samples;
  }
  double adapted(double before, double kl) const {
    return adapted_learning_rate(before, kl, settings.desired_kl, settings.least_rate);
  }
};

struct PqnWay final : StepRules<PqnSums> {
  using Loss = PqnKernelLoss;
  using Stats = PqnStats;

  explicit PqnWay(const Config& config)
      : settings(pqn_settings(config)), epsilon(settings.epsilon.epsilon(0.0)) {}
  Loss loss() const { return {settings.vf_coef}; }
  MinibatchSettings minibatches() const {
    return {settings.update_epochs, settings.max_grad_norm, settings.adam_eps, Optimizer::kRadam};
  }
  static AdvantageNorm norm() { return AdvantageNorm::kOff; }
  static GaeWeights gae_weights() { return GaeWeights::kGeometric; }
  void begin_block(double progress, Loss&) { epsilon = settings.epsilon.epsilon(progress); }
  EpsilonActing acting(int actions) const { return EpsilonActing::make(epsilon, actions); }
  void complete(Stats& stats) const { stats.epsilon = epsilon; }
  static void describe(const PqnSums&, MinibatchReport&) {}

  PqnSettings settings;
  double epsilon;  // of the present block
};

}  // namespace broadloom::cuda
