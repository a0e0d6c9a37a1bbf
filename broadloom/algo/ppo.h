// Proximal policy optimisation: epochs of minibatch steps over a rollout block.
#pragma once

#include <cstdint>
#include <span>

#include "broadloom/algo/gradient_lanes.h"
#include "broadloom/algo/learner.h"
#include "broadloom/algo/ppo_loss.h"
#include "broadloom/core/number_info.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {

enum class AdvantageNorm { kOff, kMinibatch, kBatch };

struct PpoSettings {
  PpoCoefficients loss;
  int update_epochs = 4;
  AdvantageNorm norm_adv = AdvantageNorm::kMinibatch;
  double max_grad_norm = 0.5;  // 0: no clipping
  double target_kl =
      0.0;  // stop after an epoch whose last minibatch's approx_kl exceeds it; 0: off
  double adam_eps = 1e-5;
  bool adaptive_lr =
      false;  // RSL-RL's rule: learning rate follows desired_kl, minibatch by minibatch
  double desired_kl = 0.01;
};

// Between which that rule keeps the learning rate.
inline constexpr double kLeastAdaptiveRate = 1e-5;
inline constexpr double kMostAdaptiveRate = 1e-2;

// Means over all minibatch steps of one update, but for the fields that say otherwise.
struct UpdateStats {
  double policy_loss = 0.0;
  double value_loss = 0.0;
  double entropy = 0.0;
  double old_approx_kl = 0.0;
  double approx_kl = 0.0;
  double clipfrac = 0.0;
  double grad_norm = 0.0;  // before clipping
  double ess = 0.0;        // LossSums::ess_percent
  double min_ratio = 1.0;  // over all samples of all steps
  double max_ratio = 1.0;  // likewise
  int epochs = 0;          // carried out; fewer than update_epochs when target_kl stopped them
};

// visit(info, number) for all of them but `epochs`, which has its place further back in a line of
// metrics.jsonl.
template <class Visitor>
void visit_numbers(const UpdateStats& stats, Visitor&& visit) {
  visit(NumberInfo{"policy_loss", "Policy loss", "", "losses/policy_loss"}, stats.policy_loss);
  visit(NumberInfo{"value_loss", "Value loss", "", "losses/value_loss"}, stats.value_loss);
  visit(NumberInfo{"entropy", "Entropy", "nats", "losses/entropy"}, stats.entropy);
  visit(NumberInfo{"old_approx_kl", "KL, mean of -log r", "nats", "losses/old_approx_kl"},
        stats.old_approx_kl);
  visit(NumberInfo{"approx_kl", "KL, mean of (r - 1) - log r", "nats", "losses/approx_kl"},
        stats.approx_kl);
  visit(NumberInfo{"clipfrac", "Clipped share of samples", "", "losses/clipfrac"}, stats.clipfrac);
  visit(NumberInfo{"grad_norm", "Gradient norm before clipping", "", "losses/grad_norm"},
        stats.grad_norm);
  visit(NumberInfo{"ess", "Effective sample size of ratios", "%", "losses/ess"}, stats.ess);
  visit(NumberInfo{"min_ratio", "Smallest policy ratio", "", "losses/min_ratio"}, stats.min_ratio);
  visit(NumberInfo{"max_ratio", "Largest policy ratio", "", "losses/max_ratio"}, stats.max_ratio);
}
inline constexpr NumberInfo kEpochsInfo{"epochs", "Epochs carried out", "", kNoTag};

// The gradient of one minibatch, as an observer sees it. Views hold during the call only.
struct MinibatchReport {
  int epoch = 0;      // from 0
  int minibatch = 0;  // of the epoch, from 0
  int samples = 0;
  std::span<const float> gradient;  // [P] of the mean loss over the samples, before clipping
  double norm = 0.0;                // of the gradient
  LossSums sums;
};

// Watches an update from inside. It cannot change anything, and must allocate nothing.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  // Before the first step: all samples of the block as if they were one minibatch, at the
  // parameters that collected it. norm_adv=minibatch normalises over all of them, too.
  virtual void on_batch(const MinibatchReport& batch) = 0;
  // Every minibatch before its step, in order; only those whose loss and gradient are finite.
  virtual void on_minibatch(const MinibatchReport& minibatch) = 0;
};

class Ppo {
 public:
  // minibatch_count: number of minibatches per epoch of a block of batch_size B samples.
  Ppo(const ActorCritic& network, const PpoSettings& settings, int batch_size, int minibatch_count,
      int observation_size, int action_size, ThreadPool& pool);

  // For blocks of another size from now on, as if it had been made for them. Allocates.
  void reshape(int batch_size, int minibatch_count);

  // Carries out one update on a block whose advantages are set. The learner's bf16_weights are
  // fresh, and stay so. Fails, leaving the parameters as they were at the failing step, where a
  // loss or gradient is not finite, or where the first minibatch does not see ratio 1 and KL 0
  // exactly (the block was not made by these parameters). Allocates nothing.
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner, UpdateStats& stats);

  // observer: null for none; it must outlive its use. With one, an update costs one epoch's
  // gradients more, and has the same bits.
  void set_observer(UpdateObserver* observer) { observer_ = observer; }

 private:
  void report_batch(const RolloutBlock& block, const Learner& learner);
  MinibatchReport gradient_of(const RolloutBlock& block, const std::int32_t* indices, int samples,
                              const Learner& learner);
  void take_step(const MinibatchReport& report, Learner& learner);
  AdvantageShift advantage_shift(const RolloutBlock& block, const std::int32_t* indices,
                                 int samples) const;

  const ActorCritic& network_;
  ThreadPool& pool_;
  PpoSettings settings_;
  Minibatches minibatches_;
  GradientLanes lanes_;
  std::int64_t params_version_ = 0;
  UpdateObserver* observer_ = nullptr;
  AdvantageShift batch_advantages_;
};

}  // namespace broadloom
