// The stages around the update: environments, collector, advantages, shuffling.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {
namespace {

std::unique_ptr<VecEnv> make_envs(const char* id, int num_envs) {
  VecEnvOptions options;
  options.num_envs = num_envs;
  return make_vec_env(id, {}, options).take();
}

void BM_EnvStep(benchmark::State& state, const char* id) {
  const int num_envs = static_cast<int>(state.range(0));
  const std::unique_ptr<VecEnv> envs = make_envs(id, num_envs);
  const std::size_t rows = static_cast<std::size_t>(num_envs);
  const std::size_t width = rows * envs->spec().observation_size();
  std::vector<float> seen(width), last(width), rewards(rows);
  std::vector<float> actions(rows * envs->spec().action_size(), 1.0f);
  std::vector<std::uint8_t> terminated(rows), truncated(rows);
  for (auto _ : state) {
    Status stepped = envs->step(0, num_envs,
                                {actions.data(), seen.data(), rewards.data(), terminated.data(),
                                 truncated.data(), last.data()});
    benchmark::DoNotOptimize(stepped);
  }
  state.SetItemsProcessed(state.iterations() * num_envs);
}
BENCHMARK_CAPTURE(BM_EnvStep, CartPole, "CartPole-v1")->Arg(4)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(BM_EnvStep, Pendulum, "Pendulum-v1")->Arg(4)->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(BM_EnvStep, Acrobot, "Acrobot-v1")->Arg(64)->Arg(4096);
BENCHMARK_CAPTURE(BM_EnvStep, Taxi, "Taxi-v3")->Arg(64)->Arg(4096);

void BM_Collect(benchmark::State& state, const char* id) {
  const int num_envs = static_cast<int>(state.range(0));
  const std::unique_ptr<VecEnv> envs = make_envs(id, num_envs);
  const EnvSpec& spec = envs->spec();
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  shape.action_outputs = spec.action.size;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(1, params.data());
  constexpr int kSteps = 16;
  RolloutBlock block(block_sizes(*envs, kSteps, num_envs));
  ThreadPool pool(1);
  const PolicySampler sampler(network);
  Collector collector(*envs, network, sampler, nullptr, pool, 1);
  std::int64_t step = 0;
  for (auto _ : state) {
    if (!collector.collect(params.data(), step, block).ok()) state.SkipWithError("not finite");
    step += kSteps;
  }
  state.SetItemsProcessed(state.iterations() * kSteps * num_envs);
}
BENCHMARK_CAPTURE(BM_Collect, CartPole, "CartPole-v1")->Arg(4)->Arg(64)->Arg(1024);
BENCHMARK_CAPTURE(BM_Collect, Pendulum, "Pendulum-v1")->Arg(64)->Arg(1024);

void BM_Advantages(benchmark::State& state) {
  const int num_envs = static_cast<int>(state.range(0));
  constexpr int kSteps = 64;
  RolloutBlock block(kSteps, num_envs, 1, 1, 1);
  for (auto _ : state) {
    compute_advantages(block, 0, num_envs, 0.99, 0.95, TruncationMode::kBootstrap);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kSteps * num_envs);
}
BENCHMARK(BM_Advantages)->Arg(4)->Arg(64)->Arg(4096);

void BM_Shuffle(benchmark::State& state) {
  const int batch = static_cast<int>(state.range(0));
  Minibatches minibatches(batch, 4);
  int epoch = 0;
  for (auto _ : state) minibatches.shuffle(1, 1, epoch++);
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(BM_Shuffle)->Arg(512)->Arg(4096)->Arg(65536);

// Starts a section and waits for all threads. Arguments: threads, tasks.
void BM_Section(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  struct alignas(kCacheLine) Count {
    int tasks = 0;
  };
  std::vector<Count> counts(static_cast<std::size_t>(pool.threads()));
  for (auto _ : state) {
    pool.run(static_cast<int>(state.range(1)), [&](int, int thread) { ++counts[thread].tasks; });
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Section)->Args({2, 2})->Args({2, 16})->UseRealTime();

}  // namespace
}  // namespace broadloom
