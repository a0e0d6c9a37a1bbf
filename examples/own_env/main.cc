// Trains an environment of one's own, with the library alone.
// Usage: own_env [TOTAL_TIMESTEPS [CHECKPOINT]]    goes on from the checkpoint where it is there
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "broadloom/config/config.h"
#include "broadloom/config/settings.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "evaluate.h"
#include "hover.h"

namespace {

using broadloom::Config;
using broadloom::Result;
using broadloom::Status;
using broadloom::Trainer;

int fail(const Status& status) {
  std::fprintf(stderr, "own_env: %s\n", status.message().c_str());
  return 1;
}

// The defaults for continuous actions, but for what suits a task this small.
Config make_config(const broadloom::EnvSpec& spec, long total_timesteps) {
  Config config = broadloom::default_config(spec);
  config.total_timesteps = total_timesteps;
  config.num_envs = 16;
  config.num_steps = 128;
  config.learning_rate = 1e-3;
  return config;
}

// Puts the trainer where the one was that saved the file. The settings must be the same:
// read_checkpoint() would check that, but knows only the registry's environments.
Status go_on(const std::string& checkpoint, Trainer& trainer) {
  const Result<broadloom::SafetensorsFile> file = broadloom::read_safetensors(checkpoint);
  if (!file.ok()) return file.status();
  Status status = broadloom::load_into(file.value(), trainer.state(), "instruments.");
  if (status.ok()) trainer.state_restored();
  return status;
}

// One call of iterate() collects a block of num_envs * num_steps transitions and learns from it.
Status train(Trainer& trainer) {
  while (!trainer.finished()) {
    Status status = trainer.iterate();
    if (!status.ok()) return status;
    const broadloom::IterationReport& report = trainer.report();
    if (report.iteration % 5 == 0 || trainer.finished()) {
      std::printf("step %8lld  mean return %7.1f\n", static_cast<long long>(report.global_step),
                  report.mean_return);
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  // 1. The environment: options to constants, constants to a batch of num_envs copies. What the
  // config says of them (seed, time limit, ...) goes in by vec_env_options().
  const Result<Hover::Params> params = Hover::make_params(Hover::Options{});
  if (!params.ok()) return fail(params.status());
  const broadloom::EnvSpec spec = Hover::spec(params.value());
  const Config config = make_config(spec, argc > 1 ? std::atol(argv[1]) : 100000);
  auto envs = std::make_unique<broadloom::BatchedEnv<Hover>>(params.value(), spec,
                                                             broadloom::vec_env_options(config));

  // 2. The trainer. The number of threads changes the speed, never the result.
  const int threads = broadloom::available_cores();
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, threads, std::move(envs));
  if (!made.ok()) return fail(made.status());
  Trainer& trainer = *made.value();
  const std::string checkpoint = argc > 2 ? argv[2] : "";
  if (std::filesystem::exists(checkpoint)) {
    if (const Status status = go_on(checkpoint, trainer); !status.ok()) return fail(status);
  }

  // 3. The loop, and every bit that is needed to go on after it.
  if (const Status status = train(trainer); !status.ok()) return fail(status);
  if (!checkpoint.empty()) {
    const Status status = broadloom::save_checkpoint(checkpoint, trainer, {});
    if (!status.ok()) return fail(status);
  }

  // 4. Good enough? On episodes that training never draws; the exit code says so, which makes this
  // example a test.
  broadloom::VecEnvOptions held_out = broadloom::vec_env_options(config);
  held_out.num_envs = 50;
  held_out.streams = broadloom::StreamSet::kEvaluation;
  broadloom::BatchedEnv<Hover> fresh(params.value(), spec, held_out);
  const double reached = Evaluation(trainer, fresh).mean_return();
  std::printf("mean return of the last 100 episodes: %.1f; of 50 held-out ones: %.1f\n",
              trainer.report().mean_return, reached);
  std::printf("wanted: at least %.0f\n", spec.reward_threshold);
  return reached >= spec.reward_threshold ? 0 : 1;
}
