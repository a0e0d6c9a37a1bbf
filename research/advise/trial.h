// One training that is tried: it goes on for a while, is evaluated, and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/train/trainer.h"
#include "research/advise/evidence.h"

namespace broadloom {

// Of a training without an end: environment steps that none of them comes to.
inline constexpr std::int64_t kTrialSteps = std::int64_t{1} << 40;

class Trial {
 public:
  // On one thread. The trainer is made when it is first needed.
  Trial(const Config& config, std::uint64_t seed, int eval_episodes);

  // Trains whole blocks until so many environment steps are behind or should_stop says so, which
  // is asked after each block, and evaluates where it came that far. Returns the steps made. What
  // goes wrong ends the trial and stands in its curve.
  std::int64_t go_on_to(std::int64_t steps, const std::function<bool()>& should_stop);

  const TrialCurve& curve() const { return curve_; }
  bool failed() const { return !curve_.error.empty(); }
  std::int64_t global_step() const { return trainer_ ? trainer_->clock().global_step : 0; }
  // Null before the first block, after a failure, and once released.
  const Trainer* trainer() const { return trainer_.get(); }
  void release() { trainer_.reset(); }

 private:
  Status train(std::int64_t steps, const std::function<bool()>& should_stop);
  Status evaluate();

  Config config_;
  TrialCurve curve_;
  std::unique_ptr<Trainer> trainer_;
};

// The return of the policy that a config begins with, acting by chance, over some episodes; and
// what its simulator can do.
struct UntrainedPolicy {
  Estimate mean_return;
  double mean_length = 0.0;  // steps of an episode
  VecEnvTraits simulator;
  EnvSpec spec;
};
Result<UntrainedPolicy> play_untrained(const Config& config, int episodes, int threads);

}  // namespace broadloom
