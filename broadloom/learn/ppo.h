// Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347): epochs of minibatch steps
// over a rollout block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "broadloom/core/number_info.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/schedule.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/relabelled.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// kRunning: over this block and, with falling weights, the earlier ones.
enum class AdvantageNorm { kOff, kMinibatch, kBatch, kRunning };

struct PpoSettings {
  PpoCoefficients loss;
  std::optional<Schedule> clip_coef, ent_coef;  // if they change over the run
  double gamma = 0.99;
  double gae_lambda = 0.95;
  GaeWeights gae_weights = GaeWeights::kGeometric;
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  int update_epochs = 4;
  AdvantageNorm norm_adv = AdvantageNorm::kMinibatch;
  double norm_adv_decay = 0.9;  // a block's factor of the earlier weights, with kRunning
  // Above 0: ratios are clipped against the policy of averaged parameters, the proximal policy. A
  // step multiplies the weights of all earlier parameters by it.
  double proximal_decay = 0.0;
  double max_grad_norm = 0.5;  // 0: no clipping
  // Stops after an epoch whose last minibatch has a larger approx_kl; 0: off.
  double target_kl = 0.0;
  double adam_eps = 1e-5;
  AdamBetas adam_betas = {};
  // RSL-RL's rule: each minibatch adapts the learning rate towards desired_kl.
  bool adaptive_lr = false;
  double desired_kl = 0.01;
  double least_rate = 1e-5;
  bool adapts_each_epoch = false;  // once an epoch, by its mean KL (skrl), not each minibatch
  // See MinibatchSettings.
  int steps_together = 1;
  Shuffle shuffle = Shuffle::kEpoch;
  bool clips_sides_apart = false;
  RelabelSettings relabel = {};

  MinibatchSettings minibatches() const {
    return {update_epochs,  max_grad_norm, adam_eps,          Optimizer::kAdam,
            steps_together, shuffle,       clips_sides_apart, adam_betas};
  }
};

// Upper bound of the adapted learning rate.
inline constexpr double kMostAdaptiveRate = 1e-2;

// The adapted rate for a minibatch with this KL, after a step with `rate`. It never rises if the KL
// is above desired_kl, and never falls if it is below. least_rate: lower bound.
double adapted_learning_rate(double rate, double kl, double desired_kl, double least_rate = 1e-5);

// Means over all minibatch steps of one update, unless a field says otherwise.
struct UpdateStats {
  double policy_loss = 0.0;
  double value_loss = 0.0;
  double int_value_loss = 0.0;  // of intrinsic values; not among plain PPO's numbers
  double entropy = 0.0;
  double old_approx_kl = 0.0;
  double approx_kl = 0.0;
  double clipfrac = 0.0;
  double grad_norm = 0.0;  // before clipping, companion included
  double ess = 0.0;        // RatioSums::ess_percent
  double min_ratio = 1.0;  // over all samples of all steps
  double max_ratio = 1.0;  // likewise

  template <class Visitor>
  void visit(Visitor&& visit) const;

  // Adds one minibatch step. Means are sums until finish().
  void add(const MinibatchReport& minibatch, const PpoSums& sums);
  void finish(int steps);
};

// Fails if a loss or gradient is not finite, or if the first minibatch has not exactly ratio 1 and
// KL 0.
Status check_minibatch(const MinibatchReport& minibatch, const PpoSums& sums,
                       std::int64_t iteration);

class Ppo final : public Algorithm, private MinibatchRules<PpoLoss> {
 public:
  // minibatch_count: number of minibatches per epoch of batch_size samples: those of a block, and
  // relabelled ones.
  Ppo(const ActorCritic& network, const PpoSettings& settings, int batch_size, int minibatch_count,
      int observation_size, int action_size, ThreadPool& pool, Ranks& ranks = Ranks::alone());
  // Memory of one, bytes.
  static std::size_t bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                           int action_size, int threads);

  void initialise(Learner& learner) override;
  void begin_block(double progress) override;
  void take_block(const Learner& learner, RolloutBlock& block) override;
  void compute_targets(RolloutBlock& block, int begin, int end) const override;

  // Also fails if the first minibatch has not exactly ratio 1 and KL 0: then other parameters
  // collected the block.
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override;
  const UpdateStats& stats() const { return stats_; }
  int epochs() const override { return update_.epochs(); }
  void visit_numbers(const NumberVisitor& visit) const override { stats_.visit(visit); }

  // An observer costs one more epoch's gradients per update and does not change the bits.
  void set_observer(UpdateObserver* observer) override { update_.set_observer(observer); }
  // Normalises values from now on; null: does not. Must outlive the update.
  void set_value_normalizer(ValueNormalizer* values) { update_.loss().values = values; }
  // The environment's mirror, if the settings use it. Must outlive the update.
  void set_mirror(const Mirror* mirror) { update_.loss().mirror = mirror; }
  // See MinibatchUpdate.
  void set_companion(Companion* companion) { update_.set_companion(companion); }

 private:
  AdvantageShift context(const RolloutBlock& block, const std::int32_t* indices,
                         int samples) override;
  void describe(const PpoSums& sums, MinibatchReport& report) const override;
  std::span<const std::uint8_t> fillers(const RolloutBlock& block) const override;
  Status before_step(const MinibatchReport& minibatch, const PpoSums& sums,
                     Learner& learner) override;
  void after_step(Learner& learner) override;
  bool goes_on(Learner& learner) override;
  void adapt_rate(double kl, Learner& learner) const;

  PpoSettings settings_;
  const ActorCritic& network_;
  MinibatchUpdate<PpoLoss> update_;
  std::unique_ptr<Relabelled> relabelled_;  // null: none
  AdvantageShift batch_advantages_;
  UpdateStats stats_;
  std::int64_t iteration_ = 0;
  double last_kl_ = 0.0;   // of the last minibatch
  double epoch_kl_ = 0.0;  // the adaptive rule's, summed over the epoch's minibatches
  int epoch_minibatches_ = 0;
};

template <class Visitor>
void UpdateStats::visit(Visitor&& visit) const {
  visit(NumberInfo{"policy_loss", "Policy loss", "", "losses/policy_loss"}, policy_loss);
  visit(NumberInfo{"value_loss", "Value loss", "", "losses/value_loss"}, value_loss);
  visit(NumberInfo{"entropy", "Entropy", "nats", "losses/entropy"}, entropy);
  visit(NumberInfo{"old_approx_kl", "KL, mean of -log r", "nats", "losses/old_approx_kl"},
        old_approx_kl);
  visit(NumberInfo{"approx_kl", "KL, mean of (r - 1) - log r", "nats", "losses/approx_kl"},
        approx_kl);
  visit(NumberInfo{"clipfrac", "Clipped share of samples", "", "losses/clipfrac"}, clipfrac);
  visit(NumberInfo{"grad_norm", "Gradient norm before clipping", "", "losses/grad_norm"},
        grad_norm);
  visit(NumberInfo{"ess", "Effective sample size of ratios", "%", "losses/ess"}, ess);
  visit(NumberInfo{"min_ratio", "Smallest policy ratio", "", "losses/min_ratio"}, min_ratio);
  visit(NumberInfo{"max_ratio", "Largest policy ratio", "", "losses/max_ratio"}, max_ratio);
}

}  // namespace broadloom
