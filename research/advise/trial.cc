#include "research/advise/trial.h"

#include <fmt/core.h>

#include <exception>
#include <new>

#include "broadloom/core/out_of_memory.h"
#include "broadloom/evaluate/evaluator.h"

namespace broadloom {
namespace {

Config trial_config(const Config& config, std::uint64_t seed) {
  Config trial = config;
  trial.seed = seed;
  trial.total_timesteps = kTrialSteps;
  trial.instruments.clear();  // nobody reads them
  trial.hashes = false;
  return trial;
}

}  // namespace

Trial::Trial(const Config& config, std::uint64_t seed, int eval_episodes)
    : config_(trial_config(config, seed)) {
  config_.eval_episodes = eval_episodes;
  curve_.seed = seed;
}

std::int64_t Trial::go_on_to(std::int64_t steps, const std::function<bool()>& should_stop) {
  const std::int64_t before = global_step();
  Status status;
  // Lack of memory, or an exception of a dependency, ends only this trial.
  try {
    status = train(steps, should_stop);
  } catch (const std::bad_alloc&) {
    status = {ErrorKind::kIo, kOutOfMemory};
  } catch (const std::exception& error) {
    status = {ErrorKind::kIo, fmt::format("it ended with: {}", error.what())};
  }
  const std::int64_t made = global_step() - before;
  if (!status.ok()) {
    curve_.error = status.message();
    release();
  }
  return made;
}

Status Trial::train(std::int64_t steps, const std::function<bool()>& should_stop) {
  if (!trainer_) {
    Result<std::unique_ptr<Trainer>> made = Trainer::create(config_, 1);
    if (!made.ok()) return made.status();
    trainer_ = made.take();
  }
  const std::int64_t before = global_step();
  while (global_step() < steps) {
    if (should_stop()) return {};
    BROADLOOM_TRY(trainer_->iterate());
  }
  return global_step() > before ? evaluate() : Status();
}

Status Trial::evaluate() {
  EvalOptions options;
  options.episodes = config_.eval_episodes;
  options.seed = config_.seed;
  const Result<EvalResult> result = evaluate_policy(trainer_->policy(), options);
  if (!result.ok()) return result.status();
  int unfinished = 0;
  for (const EvalResult::Reason& reason : result.value().reasons) {
    if (reason.name == "unfinished") unfinished = reason.count;
  }
  curve_.points.push_back({global_step(), result.value().mean_return, unfinished});
  return {};
}

Result<UntrainedPolicy> play_untrained(const Trainer& trainer, int episodes, int threads) {
  EvalOptions options;
  options.episodes = episodes;
  options.seed = trainer.config().seed;
  options.threads = threads;
  options.actions = EvalActions::kSampled;
  const Result<EvalResult> result = evaluate_policy(trainer.policy(), options);
  if (!result.ok()) return result.status();
  const EvalResult& r = result.value();
  return UntrainedPolicy{{r.mean_return, r.ci_low, r.ci_high, r.episodes}, r.mean_length};
}

}  // namespace broadloom
