// One tried training: it runs for a while, is evaluated, and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/train/trainer.h"
#include "research/advise/evidence.h"

namespace broadloom {

// total_timesteps of an endless training, which no trial reaches.
inline constexpr std::int64_t kTrialSteps = std::int64_t{1} << 40;

class Trial {
 public:
  // Trains on one thread. The trainer is made when it is first needed.
  Trial(const Config& config, std::uint64_t seed, int eval_episodes);

  // Trains whole blocks until `steps` environment steps are done, or until should_stop returns
  // true. It is polled after each block. Evaluates at the end if it was not stopped. Returns the
  // steps made. An error ends the trial and is recorded in its curve.
  std::int64_t go_on_to(std::int64_t steps, const std::function<bool()>& should_stop);

  const TrialCurve& curve() const { return curve_; }
  bool failed() const { return !curve_.error.empty(); }
  std::int64_t global_step() const { return trainer_ ? trainer_->clock().global_step : 0; }
  // Null before the first block, after a failure, and after release().
  const Trainer* trainer() const { return trainer_.get(); }
  void release() { trainer_.reset(); }

 private:
  Status train(std::int64_t steps, const std::function<bool()>& should_stop);
  Status evaluate();

  Config config_;
  TrialCurve curve_;
  std::unique_ptr<Trainer> trainer_;
};

// Return of an initial policy with sampled actions, over some episodes.
struct UntrainedPolicy {
  Estimate mean_return;
  double mean_length = 0.0;  // steps of an episode
};
// trainer: of a run that has not begun.
Result<UntrainedPolicy> play_untrained(const Trainer& trainer, int episodes, int threads);

}  // namespace broadloom
