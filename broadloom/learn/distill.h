// Distillation: a student acts, and learns to do what a teacher would do in the states that it
// meets (DAgger: Ross, Gordon and Bagnell 2011, arXiv 1011.0686), as RSL-RL does it. The teacher
// (rollout/teacher.h) may read observations that the student does not get.
//
// Each gradient step takes the next `gradient_length` steps of all environments, in order. A
// recurrent student's gradients go back through those steps; the states before them are those of
// the collection. RSL-RL carries the states of its own passes over the block in their place, so the
// two agree if a block has one gradient step per epoch.
#pragma once

#include <cstdint>

#include "broadloom/learn/algorithm.h"
#include "broadloom/learn/distill_loss.h"
#include "broadloom/learn/minibatch_update.h"
#include "broadloom/rollout/advantages.h"

namespace broadloom {

struct DistillSettings {
  DistillCoefficients loss;
  // For advantages, which no gradient reads: they show how far the values are off.
  double gamma = 0.99;
  double gae_lambda = 0.95;
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  int update_epochs = 1;
  double max_grad_norm = 0.0;  // 0: no clipping
  double adam_eps = 1e-8;
  int steps_together = 1;  // see MinibatchSettings
};

// Means over all minibatch steps of one update.
struct DistillStats {
  double behavior_loss = 0.0;  // per time step
  double grad_norm = 0.0;      // before clipping

  template <class Visitor>
  void visit(Visitor&& visit) const {
    visit(NumberInfo{"behavior_loss", "Distance from the teacher", "", "losses/behavior"},
          behavior_loss);
    visit(NumberInfo{"grad_norm", "Gradient norm before clipping", "", "losses/grad_norm"},
          grad_norm);
  }
};

class Distill final : public Algorithm, private MinibatchRules<DistillLoss> {
 public:
  // network: of the student; its policy is one of choices, Gaussians with one deviation per number,
  // or both. Blocks must have labels. minibatch_count: minibatches per epoch of a block of
  // batch_size B samples.
  Distill(const ActorCritic& network, const DistillSettings& settings, int batch_size,
          int minibatch_count, int observation_size, int action_size, ThreadPool& pool,
          Ranks& ranks = Ranks::alone());
  // Memory of one, bytes.
  static std::size_t bytes(const ActorCritic& network, int largest_minibatch, int observation_size,
                           int action_size, int threads);

  void compute_targets(RolloutBlock& block, int begin, int end) const override;
  // Also fails if the first minibatch does not give the block's log-probabilities.
  Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                Learner& learner) override;
  int epochs() const override { return update_.epochs(); }
  void visit_numbers(const NumberVisitor& visit) const override { stats_.visit(visit); }
  void set_observer(UpdateObserver* observer) override { update_.set_observer(observer); }

 private:
  DistillLoss::Context context(const RolloutBlock&, const std::int32_t*, int) override {
    return {};
  }
  void describe(const DistillSums&, MinibatchReport&) const override {}
  Status before_step(const MinibatchReport& minibatch, const DistillSums& sums,
                     Learner& learner) override;

  DistillSettings settings_;
  MinibatchUpdate<DistillLoss> update_;
  DistillStats stats_;
  std::int64_t iteration_ = 0;
};

}  // namespace broadloom
