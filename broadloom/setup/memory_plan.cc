#include "broadloom/setup/memory_plan.h"

#include <algorithm>
#include <memory>

#include "broadloom/core/memory_limits.h"
#include "broadloom/env/env_memory.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/instruments/hashes/block_hasher.h"
#include "broadloom/instruments/instrument_set.h"
#include "broadloom/learn/learner.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/rollout/episode_tracker.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/setup/device_plan.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/rank_plan.h"
#include "broadloom/setup/run_sizes.h"
#include "broadloom/setup/settings.h"
#include "broadloom/setup/simulator.h"

namespace broadloom {
namespace {

std::size_t permutation_bytes(const Config& phase) {
  return static_cast<std::size_t>(phase.batch_size()) * sizeof(std::int32_t);
}

std::size_t normaliser_bytes(const RunSizes& run) {
  if (!run.config.norm_obs) return 0;
  const int shards = most_shards(run.config);
  return ObsNormalizer::bytes(run.spec.observation_size(), shards) +
         ObsNormalizer::bytes(run.network.shape().critic_observation_size, shards);
}

std::size_t instrument_set_bytes(const RunSizes& run, std::size_t phase, int threads) {
  const Config& config = run.phases[phase];
  const InstrumentSetup setup =
      instrument_setup(config, run.network, run.spec, threads, run.config.most_envs());
  return InstrumentSet::bytes(config.instruments, setup) +
         (config.hashes ? BlockHasher::bytes(run.blocks[phase], threads) : 0);
}

void grow(std::size_t& part, std::size_t bytes) { part = std::max(part, bytes); }

}  // namespace

Result<MemoryPlan> plan_memory(const Config& config, int threads, int ranks) {
  Result<std::unique_ptr<VecEnv>> envs = make_one_env(config);
  if (!envs.ok()) return envs.status();
  BROADLOOM_TRY(check_algorithm(config, envs.value()->spec()));
  BROADLOOM_TRY(check_observations(config, envs.value()->spec()));
  BROADLOOM_TRY(check_actions(config, envs.value()->spec()));
  BROADLOOM_TRY(check_simulator(config, *envs.value()));
  return with_simulator_errors(
      [&]() -> Result<MemoryPlan> { return plan_memory(config, threads, *envs.value(), ranks); });
}

MemoryPlan plan_memory(const Config& config, int threads, VecEnv& envs, int ranks) {
  const RunSizes run(config, envs);
  const int most_envs = config.most_envs();
  MemoryPlan plan;
  for (std::size_t p = 0; p < run.phases.size(); ++p) {
    const Config& phase = run.phases[p];
    grow(plan.permutation, permutation_bytes(phase));
    grow(plan.update, algorithm_bytes(phase, run.network, run.spec, threads));
    grow(plan.collector, Collector::bytes(phase.num_envs, threads, run.network, envs));
    grow(plan.instruments, instrument_set_bytes(run, p, threads));
  }
  plan.block = RolloutBlock::bytes(run.blocks);
  plan.environments = environment_bytes(envs, most_envs) + EpisodeTracker::bytes(most_envs) +
                      (config.norm_reward ? RewardNormalizer::bytes(most_envs) : 0);
  plan.normaliser = normaliser_bytes(run);
  plan.network = Learner::bytes(run.network);
  plan.exchange = rank_bytes(run, ranks);
  plan.passing = passing_bytes(run, envs, ranks);
  return plan;
}

std::size_t memory_allowed(const Config& config) {
  constexpr std::size_t kMegabyte = 1000000;
  const std::size_t available = available_memory();
  if (config.memory_limit == 0) return available;
  const std::size_t limit = static_cast<std::size_t>(config.memory_limit) * kMegabyte;
  return available == 0 ? limit : std::min(limit, available);
}

}  // namespace broadloom
