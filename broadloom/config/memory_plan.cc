#include "broadloom/config/memory_plan.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "broadloom/config/algorithms.h"
#include "broadloom/config/network_shape.h"
#include "broadloom/config/settings.h"
#include "broadloom/env/normalizer.h"
#include "broadloom/envs/registry.h"
#include "broadloom/instruments/hashes/block_hasher.h"
#include "broadloom/instruments/instrument_set.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/collector.h"

namespace broadloom {

std::size_t state_bytes_per_env(VecEnv& envs) {
  std::vector<TensorRef> tensors;
  envs.append_state("envs", tensors);
  std::size_t bytes = 0;
  for (const TensorRef& tensor : tensors) bytes += tensor.bytes();
  return bytes / static_cast<std::size_t>(envs.num_envs());
}

Result<MemoryPlan> plan_memory(const Config& config, int threads) {
  VecEnvOptions one;
  one.max_episode_steps = config.max_episode_steps;
  one.curriculum = curriculum_options(config);
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(config.env_id, config.env_options, one);
  if (!envs.ok()) return envs.status();
  BROADLOOM_TRY(check_observations(config, envs.value()->spec()));
  return plan_memory(config, threads, *envs.value());
}

MemoryPlan plan_memory(const Config& config, int threads, VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  const std::size_t num_envs = static_cast<std::size_t>(config.num_envs);
  const std::size_t batch = static_cast<std::size_t>(config.batch_size());
  const ActorCritic network(network_shape(config, spec));
  const std::size_t parameters = network.parameter_count() * sizeof(float);
  const std::size_t workspace = network.make_workspace<float>().bytes();
  // Seed family; running return and length of the episode, and the discounted sum of norm_reward.
  const std::size_t statistics = sizeof(std::uint32_t) + sizeof(double) + sizeof(std::int64_t) +
                                 (config.norm_reward ? sizeof(double) : 0);
  MemoryPlan plan;
  const BlockSizes sizes = block_sizes(envs, config.num_steps, config.num_envs);
  plan.block = RolloutBlock::bytes(sizes);
  plan.permutation = batch * sizeof(std::int32_t);
  plan.environments = num_envs * (state_bytes_per_env(envs) + statistics);
  if (config.norm_obs) {
    const int shards = shard_plan(config).count();
    plan.normaliser = ObsNormalizer::bytes(spec.observation_size(), shards) +
                      ObsNormalizer::bytes(spec.critic_observation.size, shards);
  }
  plan.network = 3 * parameters + network.bf16_size() * sizeof(Bf16Pair);
  plan.update = algorithm_bytes(config, network, spec, threads);
  plan.collector = static_cast<std::size_t>(threads) *
                   (workspace + Collector::scratch_bytes(config.num_envs, threads, spec));
  plan.instruments =
      InstrumentSet::bytes(config.instruments, instrument_setup(config, network, spec, threads));
  if (config.hashes) plan.instruments += BlockHasher::bytes(sizes, threads);
  return plan;
}

std::size_t memory_allowed(const Config& config) {
  constexpr std::size_t kMegabyte = 1000000;
  const std::size_t machine = physical_memory();
  if (config.memory_limit == 0) return machine;
  const std::size_t limit = static_cast<std::size_t>(config.memory_limit) * kMegabyte;
  return machine == 0 ? limit : std::min(limit, machine);
}

std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : 0;
}

}  // namespace broadloom
