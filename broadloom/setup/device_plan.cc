#include "broadloom/setup/device_plan.h"

#include <algorithm>

#include "broadloom/env/env_memory.h"
#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/observations.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// Upper bound on the bytes of loss sums per update (PPO with separate networks; others need less).
// config: without a schedule.
std::size_t notes_bytes(const Config& config, std::size_t parameters) {
  if (parameters == 0) return 0;
  const int samples = static_cast<int>(config.largest_minibatch());
  const int partials = partial_gradient_count(samples, parameters);
  return static_cast<std::size_t>(config.update_epochs * config.minibatch_count()) * 2 *
         static_cast<std::size_t>(partials) * sizeof(PpoSums);
}

// Sums and squares that a block adds to the observation normalisers of policy and companion.
std::size_t moments_bytes(const RunSizes& run) {
  const int critic_size = run.network.shape().critic_observation_size;
  const int columns = (run.config.norm_obs ? run.spec.observation_size() + critic_size : 0) +
                      run.companion.normalised;
  std::size_t shards = 0;
  for (const Config& phase : run.phases) {
    const ShardPlan plan(phase.num_envs, kTileRows);
    shards = std::max(shards, static_cast<std::size_t>(plan.count()));
  }
  return shards * static_cast<std::size_t>(2 * ObsNormalizer::kChains * columns) * sizeof(double);
}

// Bytes of a step of environments that the host steps, which pass between two waits: actions, both
// observations, flags of valid actions, rewards and ends.
std::size_t step_bytes(const EnvSpec& spec, const Config& config) {
  const std::size_t row = 2 * observation_type(spec.observation).row_bytes() +
                          2 * observation_type(spec.critic_observation).row_bytes() +
                          (static_cast<std::size_t>(spec.action_size()) + 1) * sizeof(float) + 2 +
                          static_cast<std::size_t>(spec.action.mask_size()) +
                          (spec.names_success ? sizeof(EpisodeEnd) : 0);
  return static_cast<std::size_t>(config.most_envs()) * row;
}

}  // namespace

// The GPU sends the arrays that reports need, or the whole block if hashes, instruments or other
// ranks read it.
// The CPU sends the update's permutations.
std::size_t passing_bytes(const RunSizes& run, VecEnv& envs, int ranks) {
  const Config& config = run.config;
  const CompanionSize& companion = run.companion;
  if (config.device == "cpu") return 0;
  std::size_t samples = 0, notes = 0;
  for (const Config& phase : run.phases) {
    samples = std::max(samples, static_cast<std::size_t>(phase.batch_size()));
    notes = std::max(notes, notes_bytes(phase, run.network.parameter_count()) +
                                notes_bytes(phase, companion.parameters));
  }
  const bool is_read_whole = config.hashes || !config.instruments.empty() || ranks > 1;
  // Reward, value and advantage for each kind of value, the scaled reward that returns, and the end
  // flags.
  const bool scales = config.norm_reward || config.reward_scale != 1.0;
  const int floats = 3 * run.network.shape().value_outputs + (scales ? 1 : 0);
  const std::size_t sample_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 2 +
                                   (run.spec.names_success ? sizeof(EpisodeEnd) : 0);
  const std::size_t block =
      is_read_whole ? RolloutBlock::bytes(run.blocks) + (scales ? samples : 0) * sizeof(float)
                    : samples * sample_bytes;
  // A companion's samples are a draw from each epoch's samples, so at most as many.
  const int orders = order_count(ppo_settings(config).shuffle, config.update_epochs) +
                     (companion.parameters > 0 ? config.update_epochs : 0);
  const std::size_t permutations =
      static_cast<std::size_t>(orders) * samples * sizeof(std::int32_t);
  const std::size_t states =
      static_cast<std::size_t>(config.most_envs()) * state_bytes_per_env(envs);
  const std::size_t params = (run.network.parameter_count() + companion.parameters) * sizeof(float);
  // The first block also copies parameters, moments and environments, and returns new parameters.
  const std::size_t moments = moments_bytes(run);
  const std::size_t step = step_bytes(run.spec, config);
  const std::size_t copied_bytes =
      std::max(block + moments + permutations + notes + 4 * params + states, step);
  // Staging pages grow by a quarter more than needed. Moments, results of an update and steps also
  // have arrays of their own.
  return copied_bytes / 4 * 5 + moments + permutations + states + notes + params + step;
}

}  // namespace broadloom
