// Epochs of minibatch steps over a rollout block, shared by the algorithms.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "broadloom/core/status.h"
#include "broadloom/learn/companion.h"
#include "broadloom/learn/learner.h"
#include "broadloom/learn/optimizer.h"
#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/update_observer.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {

struct MinibatchSettings {
  int update_epochs = 4;
  double max_grad_norm = 0.5;  // 0: no clipping
  double adam_eps = 1e-5;
  Optimizer optimizer = Optimizer::kAdam;
  // Steps of an environment that stay together in a minibatch: those of a recurrent network's
  // sequences, else 1.
  int steps_together = 1;
  Shuffle shuffle = Shuffle::kEpoch;
  // Clips the gradients of policy and critic by one norm each; their sides must be apart.
  bool clips_sides_apart = false;
  AdamBetas betas = {};
};

// An algorithm's decisions within an update.
template <class Loss>
class MinibatchRules {
 public:
  // Values that all samples of a minibatch share.
  virtual typename Loss::Context context(const RolloutBlock& block, const std::int32_t* indices,
                                         int samples) = 0;
  // Flags of the samples that none learns from; empty: none.
  virtual std::span<const std::uint8_t> fillers(const RolloutBlock& block) const {
    return block.fillers;
  }
  // Writes the sums that an observer sees to the report.
  virtual void describe(const typename Loss::Sums& sums, MinibatchReport& report) const = 0;
  // Called for every minibatch before its step, which is not taken if this fails. May set the
  // learning rate.
  virtual Status before_step(const MinibatchReport& minibatch, const typename Loss::Sums& sums,
                             Learner& learner) = 0;
  // Called after each step.
  virtual void after_step(Learner& /*learner*/) {}
  // Called after each epoch; may set the learning rate. Whether another epoch may follow.
  virtual bool goes_on(Learner& /*learner*/) { return true; }

 protected:
  ~MinibatchRules() = default;
};

// Loss: see PartialGradients. Definitions are in minibatch_update-inl.h.
template <class Loss>
class MinibatchUpdate {
 public:
  using Rules = MinibatchRules<Loss>;

  // minibatch_count: number of minibatches per epoch of a block of batch_size B samples.
  // ranks: the processes that share the work of each gradient and hold the same blocks and
  // learners.
  MinibatchUpdate(const ActorCritic& network, const Loss& loss, const MinibatchSettings& settings,
                  int batch_size, int minibatch_count, int observation_size, int action_size,
                  ThreadPool& pool, Ranks& ranks = Ranks::alone());

  // Runs one update. Fails if a rule fails or ranks cannot reach each other. Allocates nothing.
  Status run(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
             Learner& learner, Rules& rules);

  // Epochs and gradient steps of the last update.
  int epochs() const { return epochs_; }
  int steps() const { return steps_; }

  // An observer costs one more epoch's gradients per update and does not change the bits.
  void set_observer(UpdateObserver* observer) { observer_ = observer; }

  // Sets the companion that learns in the same steps; null: none. It must outlive its use.
  void set_companion(Companion* companion) { companion_ = companion; }

  Loss& loss() { return gradients_.loss(); }

 private:
  struct Measured {
    MinibatchReport report;
    typename Loss::Sums sums;
    std::array<double, 2> side_norms;  // see GradientResult
  };

  void report_batch(const RolloutBlock& block, const Learner& learner, Rules& rules);
  void measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
               const Learner& learner, Rules& rules);
  Status measure_companion(const RolloutBlock& block, int minibatch, const Learner& learner);
  Status take_step(Learner& learner, Rules& rules);

  const ActorCritic& network_;
  ThreadPool& pool_;
  Ranks& ranks_;
  MinibatchSettings settings_;
  Minibatches minibatches_;
  PartialGradients<Loss> gradients_;
  Measured measured_;  // the current minibatch
  std::int64_t params_version_ = 0;
  UpdateObserver* observer_ = nullptr;
  Companion* companion_ = nullptr;
  int epochs_ = 0;
  int steps_ = 0;
};

}  // namespace broadloom
