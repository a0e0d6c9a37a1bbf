#include "cli/bench_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "broadloom/rollout/block_exchange.h"
#include "broadloom/setup/settings.h"
#include "broadloom/setup/simulator.h"

namespace broadloom::cli {
namespace {

StageSeconds difference(const StageSeconds& after, const StageSeconds& before) {
  StageSeconds out;
  for (const StageField& stage : kStages) {
    out.*stage.seconds = after.*stage.seconds - before.*stage.seconds;
  }
  return out;
}

Status over_error(const BenchCase& bench_case) {
  return {ErrorKind::kInvalidConfig,
          fmt::format("{}: the run ended after its {} environment steps, before the bench did; "
                      "raise total_timesteps, as in --total_timesteps 1000000000000",
                      bench_case.file, bench_case.trainer->config().total_timesteps)};
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {0.5 * (values[(n - 1) / 2] + values[n / 2]), values.front(), values.back()};
}

Spread BenchCase::steps_per_second() const {
  std::vector<double> values;
  for (const Measurement& repeat : repeats) values.push_back(repeat.steps_per_second());
  return spread_of(std::move(values));
}

double BenchCase::flops_per_step() const {
  std::int64_t iterations = 0;
  std::int64_t epochs = 0;
  for (const Measurement& repeat : repeats) {
    iterations += repeat.iterations;
    epochs += repeat.epochs;
  }
  return flops.per_step(static_cast<double>(epochs) / static_cast<double>(iterations));
}

double BenchCase::flops_per_second() const { return steps_per_second().median * flops_per_step(); }

Spread BenchCase::first_step_seconds() const {
  std::vector<double> values;
  for (const FirstStep& step : first_steps) values.push_back(step.seconds);
  return spread_of(std::move(values));
}

double BenchCase::peak_memory_bytes() const {
  std::vector<double> values;
  for (const FirstStep& step : first_steps) {
    values.push_back(static_cast<double>(step.peak_memory_bytes));
  }
  return spread_of(std::move(values)).median;
}

StageSeconds BenchCase::stage_shares() const {
  StageSeconds shares;
  double sum = 0.0;
  for (const Measurement& repeat : repeats) {
    for (const StageField& stage : kStages) {
      shares.*stage.seconds += repeat.stages.*stage.seconds;
      sum += repeat.stages.*stage.seconds;
    }
  }
  for (const StageField& stage : kStages) shares.*stage.seconds /= sum;
  return shares;
}

Result<BenchCase> make_case(const std::string& file, const Config& config, int threads) {
  const Result<std::unique_ptr<VecEnv>> one = make_one_env(config);
  if (!one.ok()) return one.status();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, threads);
  if (!trainer.ok()) return trainer.status();
  BenchCase out;
  out.name = std::filesystem::path(file).stem().string();
  out.file = file;
  out.trainer = trainer.take();
  out.shared_bytes_per_env = exchanged_bytes_per_env(run_block_sizes(config, *one.value()));
  out.flops = count_flops(out.trainer->network());
  return out;
}

Result<Measurement> measure(const BenchCase& bench_case, double seconds, int min_iterations) {
  using Clock = std::chrono::steady_clock;
  Trainer& trainer = *bench_case.trainer;
  const StageSeconds before = trainer.stage_seconds();
  const std::int64_t first_step = trainer.clock().global_step;
  Measurement out;
  const Clock::time_point begin = Clock::now();
  while (out.iterations < min_iterations || out.seconds < seconds) {
    if (trainer.finished()) return over_error(bench_case);
    BROADLOOM_TRY(trainer.iterate());
    out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    out.iterations += 1;
    out.epochs += trainer.report().epochs;
  }
  out.steps = trainer.clock().global_step - first_step;
  out.stages = difference(trainer.stage_seconds(), before);
  return out;
}

}  // namespace broadloom::cli
