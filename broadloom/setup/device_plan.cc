#include "broadloom/setup/device_plan.h"

#include <algorithm>

#include "broadloom/env/env_memory.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {
namespace {

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
std::size_t moments_bytes(const RunSizes& run) {
  const int columns =
      (run.config.norm_obs ? run.spec.observation_size() : 0) + run.companion.normalised;
  std::size_t shards = 0;
  for (const Config& phase : run.phases) {
    const ShardPlan plan(phase.num_envs, kTileRows);
    shards = std::max(shards, static_cast<std::size_t>(plan.count()));
  }
  return shards * static_cast<std::size_t>(2 * ObsNormalizer::kChains * columns) * sizeof(double);
}

}  // namespace

// A block comes as the host's reports want it, whole where somebody looks
// at all of it, and goes by with the permutations of its update.
std::size_t passing_bytes(const RunSizes& run, VecEnv& envs) {
  const Config& config = run.config;
  const CompanionSize& companion = run.companion;
  if (config.device == "cpu") return 0;
  std::size_t samples = 0, noted = 0;
  for (const Config& phase : run.phases) {
    samples = std::max(samples, static_cast<std::size_t>(phase.batch_size()));
    noted = std::max(noted, noted_bytes(phase, run.network.parameter_count()) +
                                noted_bytes(phase, companion.parameters));
  }
  const bool is_looked_at = config.hashes || !config.instruments.empty();
  // Reward, value and advantage, again for a second value, and a reward that goes back scaled; how
  // it ended.
  const bool scales = config.norm_reward || config.reward_scale != 1.0;
  const int floats = 3 * run.network.shape().value_outputs + (scales ? 1 : 0);
  const std::size_t of_sample = static_cast<std::size_t>(floats) * sizeof(float) + 2 +
                                (run.spec.names_success ? sizeof(EpisodeEnd) : 0);
  const std::size_t block =
      is_looked_at ? RolloutBlock::bytes(run.blocks) + (scales ? samples : 0) * sizeof(float)
                   : samples * of_sample;
  // Samples that train a companion are drawn of all, at most.
  const std::size_t draws = companion.parameters > 0 ? 2 : 1;
  const std::size_t permutations =
      draws * static_cast<std::size_t>(config.update_epochs) * samples * sizeof(std::int32_t);
  const std::size_t states =
      static_cast<std::size_t>(config.most_envs()) * state_bytes_per_env(envs);
  const std::size_t params = (run.network.parameter_count() + companion.parameters) * sizeof(float);
  // With the first block go parameters, moments and environments, and new parameters come back.
  const std::size_t moments = moments_bytes(run);
  const std::size_t at_a_time = block + moments + permutations + noted + 4 * params + states;
  // Pages grow by a quarter more than is asked for. Moments and what an update makes come to arrays
  // of their own.
  return at_a_time / 4 * 5 + moments + permutations + states + noted + params;
}

}  // namespace broadloom
