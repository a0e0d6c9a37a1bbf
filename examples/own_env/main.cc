// Trains an environment of one's own, with the library alone. Usage: own_env [TOTAL_TIMESTEPS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "broadloom/env/batched_env.h"
#include "broadloom/train/config.h"
#include "broadloom/train/trainer.h"
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

}  // namespace

int main(int argc, char** argv) {
  // 1. The environment: options to constants, constants to a batch of num_envs copies.
  const Result<Hover::Params> params = Hover::make_params(Hover::Options{});
  if (!params.ok()) return fail(params.status());
  const broadloom::EnvSpec spec = Hover::spec(params.value());
  const Config config = make_config(spec, argc > 1 ? std::atol(argv[1]) : 100000);
  broadloom::VecEnvOptions options;
  options.num_envs = config.num_envs;
  options.seed = config.seed;
  auto envs = std::make_unique<broadloom::BatchedEnv<Hover>>(params.value(), spec, options);

  // 2. The trainer. The number of threads changes the speed, never the result.
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config, threads, std::move(envs));
  if (!made.ok()) return fail(made.status());
  Trainer& trainer = *made.value();

  // 3. The loop: one call collects a block of num_envs * num_steps transitions and learns from it.
  while (!trainer.finished()) {
    const Status status = trainer.iterate();
    if (!status.ok()) return fail(status);
    const broadloom::IterationReport& report = trainer.report();
    if (report.iteration % 5 == 0 || trainer.finished()) {
      std::printf("step %8lld  mean return %7.1f\n", static_cast<long long>(report.global_step),
                  report.mean_return);
    }
  }

  // 4. Good enough? The exit code says so, which makes this example a test.
  const double reached = trainer.report().mean_return;
  std::printf("mean return of the last 100 episodes: %.1f (wanted: at least %.0f)\n", reached,
              spec.reward_threshold);
  return reached >= spec.reward_threshold ? 0 : 1;
}
