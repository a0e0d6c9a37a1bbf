// A training loop by hand, if no command fits: own_loop [TOTAL_TIMESTEPS [CHECKPOINT]] continues
// from the checkpoint if it exists.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "hover.h"

namespace {

using broadloom::Result;
using broadloom::Status;
using broadloom::Trainer;

// Restores the trainer's state from a checkpoint file.
Status restore_from(const std::string& path, Trainer& trainer) {
  const Result<broadloom::Checkpoint> checkpoint = broadloom::read_checkpoint(path);
  return checkpoint.ok() ? broadloom::restore(checkpoint.value(), trainer) : checkpoint.status();
}

// Each iterate() collects a block of num_envs * num_steps transitions and learns from it.
Status train(Trainer& trainer) {
  while (!trainer.finished()) {
    BROADLOOM_TRY(trainer.iterate());
    const broadloom::IterationReport& report = trainer.report();
    if (report.iteration % 5 == 0 || trainer.finished()) {
      std::printf("step %8lld  mean return %7.1f\n", static_cast<long long>(report.global_step),
                  report.mean_return);
    }
  }
  return {};
}

// Plays held-out episodes with the most likely actions.
Status evaluate(const Trainer& trainer, double wanted) {
  const Result<broadloom::EvalResult> result =
      broadloom::evaluate_policy(trainer.policy(), {.episodes = 50});
  if (!result.ok()) return result.status();
  const double reached = result.value().mean_return;
  std::printf("mean return of 50 held-out episodes: %.1f; wanted: %.0f\n", reached, wanted);
  if (reached >= wanted) return {};
  return {broadloom::ErrorKind::kNumeric, "the policy is not good enough; train it for longer"};
}

Status run(long total_timesteps, const std::string& checkpoint) {
  BROADLOOM_TRY(broadloom::register_environment<Hover>("Hover-v0"));
  const broadloom::EnvSpec spec = broadloom::env_spec("Hover-v0", {}).take();
  broadloom::Config config = broadloom::default_config(spec);
  config.total_timesteps = total_timesteps;
  config.num_envs = 16;
  config.num_steps = 128;
  config.learning_rate = 1e-3;

  // The number of threads changes only the speed, not the result.
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, broadloom::available_cores());
  if (!made.ok()) return made.status();
  Trainer& trainer = *made.value();
  if (std::filesystem::exists(checkpoint)) BROADLOOM_TRY(restore_from(checkpoint, trainer));
  BROADLOOM_TRY(train(trainer));
  if (!checkpoint.empty()) BROADLOOM_TRY(broadloom::save_checkpoint(checkpoint, trainer, {}));
  return evaluate(trainer, spec.reward_threshold);
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? std::atol(argv[1]) : 100000, argc > 2 ? argv[2] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "own_loop: %s\n", status.message().c_str());
  return 1;
}
