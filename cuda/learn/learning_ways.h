// PPO and PQN for DeviceLearning: losses, acting, decisions between steps, and settings from a
// config.
#pragma once

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
  MinibatchSettings minibatches() const {
    return {settings.update_epochs, settings.max_grad_norm, settings.adam_eps};
  }
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

  bool sets_rate() const override { return settings.adaptive_lr; }
  double rate(const PpoSums& of_step, int samples, double before) const override {
    return adapted_learning_rate(before, of_step.approx_kl / samples, settings.desired_kl,
                                 settings.least_rate);
  }
  bool may_stop() const override { return settings.target_kl != 0.0; }
  bool goes_on(const PpoSums& of_step, int samples) const override {
    return of_step.approx_kl / samples <= settings.target_kl;
  }

  PpoSettings settings;
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
