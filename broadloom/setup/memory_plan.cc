#include "broadloom/setup/memory_plan.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "broadloom/instruments/hashes/block_hasher.h"
#include "broadloom/instruments/instrument_set.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/rank_plan.h"
#include "broadloom/setup/settings.h"
#include "broadloom/setup/simulator.h"

namespace broadloom {

std::size_t state_bytes_per_env(VecEnv& envs) {
  std::vector<TensorRef> tensors;
  envs.append_state("envs", tensors);
  std::size_t bytes = 0;
  for (const TensorRef& tensor : tensors) bytes += tensor.bytes();
  return bytes / static_cast<std::size_t>(envs.num_envs());
}

Result<MemoryPlan> plan_memory(const Config& config, int threads, int ranks) {
  Result<std::unique_ptr<VecEnv>> envs = make_one_env(config);
  if (!envs.ok()) return envs.status();
  BROADLOOM_TRY(check_algorithm(config, envs.value()->spec()));
  BROADLOOM_TRY(check_observations(config, envs.value()->spec()));
  return plan_memory(config, threads, *envs.value(), ranks);
}

namespace {

// Each array of the block has room for the largest that it becomes.
std::size_t block_bytes(const Config& config, const VecEnv& envs) {
  std::vector<BlockSizes> sizes;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config phase = config.of_phase(p);
    sizes.push_back(run_block_sizes(phase, envs));
  }
  std::size_t sum = 0;
  RolloutBlock::visit_arrays(sizes[0],
                             [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
                               std::size_t most = 0;
                               for (const BlockSizes& of : sizes) {
                                 most = std::max(most, RolloutBlock::array_bytes<Array>(array, of));
                               }
                               sum += most;
                             });
  return sum;
}

// What belongs to one shape of block; config: without a schedule.
MemoryPlan plan_shape(const Config& config, int threads, const VecEnv& envs,
                      const ActorCritic& network, int most_envs) {
  const EnvSpec& spec = envs.spec();
  const std::size_t workspace = network.make_workspace<float>().bytes();
  MemoryPlan plan;
  plan.permutation = static_cast<std::size_t>(config.batch_size()) * sizeof(std::int32_t);
  plan.update = algorithm_bytes(config, network, spec, threads);
  plan.collector =
      static_cast<std::size_t>(threads) *
          (workspace + Collector::scratch_bytes(config.num_envs, threads, network, envs)) +
      Collector::shared_bytes(config.num_envs, network, envs);
  plan.instruments = InstrumentSet::bytes(
      config.instruments, instrument_setup(config, network, spec, threads, most_envs));
  if (config.hashes) {
    plan.instruments += BlockHasher::bytes(run_block_sizes(config, envs), threads);
  }
  return plan;
}

// What is said of the samples of each partial gradient of an update of so many parameters; by PPO
// with sides apart, and less by others. config: without a schedule.
std::size_t noted_bytes(const Config& config, std::size_t parameters) {
  if (parameters == 0) return 0;
  const int samples = static_cast<int>(config.largest_minibatch());
  const int partials = partial_gradient_count(samples, parameters);
  return static_cast<std::size_t>(config.update_epochs * config.minibatch_count()) * 2 *
         static_cast<std::size_t>(partials) * sizeof(PpoSums);
}

// What a block adds to normalisers of observations, sums and squares of each place and shard: the
// policy's and a companion's own.
std::size_t moments_bytes(const Config& config, const EnvSpec& spec,
                          const CompanionSize& companion) {
  const int columns = (config.norm_obs ? spec.observation_size() : 0) + companion.normalised;
  std::size_t shards = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const ShardPlan plan(config.of_phase(p).num_envs, kTileRows);
    shards = std::max(shards, static_cast<std::size_t>(plan.count()));
  }
  return shards * static_cast<std::size_t>(2 * ObsNormalizer::kChains * columns) * sizeof(double);
}

// See MemoryPlan::passing. A block comes as the host's reports want it, whole where somebody looks
// at all of it, and goes by with the permutations of its update.
std::size_t passing_bytes(const Config& config, VecEnv& envs, const ActorCritic& network) {
  if (config.device == "cpu") return 0;
  const CompanionSize companion = companion_size(config, envs.spec());
  std::size_t samples = 0, noted = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config phase = config.of_phase(p);
    samples = std::max(samples, static_cast<std::size_t>(phase.batch_size()));
    noted = std::max(noted, noted_bytes(phase, network.parameter_count()) +
                                noted_bytes(phase, companion.parameters));
  }
  const bool is_looked_at = config.hashes || !config.instruments.empty();
  // Reward, value and advantage, again for a second value, and a reward that goes back scaled; how
  // it ended.
  const bool scales = config.norm_reward || config.reward_scale != 1.0;
  const int floats = 3 * network.shape().value_outputs + (scales ? 1 : 0);
  const std::size_t of_sample = static_cast<std::size_t>(floats) * sizeof(float) + 2 +
                                (envs.spec().names_success ? sizeof(EpisodeEnd) : 0);
  const std::size_t block = is_looked_at
                                ? block_bytes(config, envs) + (scales ? samples : 0) * sizeof(float)
                                : samples * of_sample;
  // Samples that train a companion are drawn of all, at most.
  const std::size_t draws = companion.parameters > 0 ? 2 : 1;
  const std::size_t permutations =
      draws * static_cast<std::size_t>(config.update_epochs) * samples * sizeof(std::int32_t);
  const std::size_t states =
      static_cast<std::size_t>(config.most_envs()) * state_bytes_per_env(envs);
  const std::size_t params = (network.parameter_count() + companion.parameters) * sizeof(float);
  // With the first block go parameters, moments and environments, and new parameters come back.
  const std::size_t moments = moments_bytes(config, envs.spec(), companion);
  const std::size_t at_a_time = block + moments + permutations + noted + 4 * params + states;
  // Pages grow by a quarter more than is asked for. Moments and what an update makes come to arrays
  // of their own.
  return at_a_time / 4 * 5 + moments + permutations + states + noted + params;
}

}  // namespace

MemoryPlan plan_memory(const Config& config, int threads, VecEnv& envs, int ranks) {
  const EnvSpec& spec = envs.spec();
  const int most_envs = config.most_envs();
  const ActorCritic network(network_shape(config, spec));
  // Seed family; running return and length of the episode, and the discounted sum of norm_reward.
  const std::size_t statistics = sizeof(std::uint32_t) + sizeof(double) + sizeof(std::int64_t) +
                                 (config.norm_reward ? sizeof(double) : 0);
  MemoryPlan plan;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const MemoryPlan shape = plan_shape(config.of_phase(p), threads, envs, network, most_envs);
    for (const auto part : {&MemoryPlan::permutation, &MemoryPlan::update, &MemoryPlan::collector,
                            &MemoryPlan::instruments}) {
      plan.*part = std::max(plan.*part, shape.*part);
    }
  }
  plan.block = block_bytes(config, envs);
  plan.environments =
      static_cast<std::size_t>(most_envs) * (state_bytes_per_env(envs) + statistics) +
      envs.shared_bytes();
  if (config.norm_obs) {
    plan.normaliser = ObsNormalizer::bytes(spec.observation_size(), most_shards(config)) +
                      ObsNormalizer::bytes(critic_space(config, spec).size, most_shards(config));
  }
  plan.exchange = rank_bytes(config, ranks, envs);
  plan.passing = passing_bytes(config, envs, network);
  plan.network = 3 * network.parameter_count() * sizeof(float);
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
