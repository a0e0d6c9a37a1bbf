#include "broadloom/setup/rank_plan.h"

#include <algorithm>

#include "broadloom/learn/gradient_cut.h"
#include "broadloom/learn/rank_sums.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block_exchange.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

// Bytes of PPO's sums per partial gradient, for both sides; other algorithms need less.
constexpr double kNoteBytes = 2 * 14 * sizeof(double);

int first_rank_shards(int shards, int ranks) {
  return static_cast<int>(std::int64_t{shards} / ranks);
}

double gradient_bytes(int samples, std::size_t parameters, int ranks) {
  if (parameters == 0) return 0.0;
  const RankRuns runs(partial_gradient_count(samples, parameters), ranks);
  return static_cast<double>(RankSums::received_bytes(parameters, runs.nodes, ranks)) +
         kNoteBytes * (runs.partials - runs.end(0));
}

double statistics_bytes(int size, int shards) {
  if (size == 0) return 0.0;
  return static_cast<double>(ObsNormalizer::shard_bytes(size)) * shards;
}

}  // namespace

RankPlan plan_ranks(const Config& config, int ranks, const VecEnv& envs) {
  RankPlan plan;
  plan.ranks = ranks;
  const Config now = config.of_phase(0);
  plan.gradients = now.minibatch_count() * now.update_epochs;
  if (ranks == 1) return plan;
  const BlockSizes sizes = run_block_sizes(now, envs);
  const ShardPlan shards(now.num_envs, kTileRows);
  plan.collecting_ranks = std::min(ranks, shards.count());
  const int own = first_rank_shards(shards.count(), ranks);
  const int others = shards.count() - own;
  const int other_envs = now.num_envs - (own > 0 ? shards[own - 1].end : 0);
  plan.block = static_cast<double>(exchanged_bytes_per_env(sizes)) * other_envs;
  const CompanionSize companion = companion_size(now, envs.spec());
  const bool are_sent = now.device == "cpu";  // a device sums up all rows itself
  if (are_sent) plan.statistics = statistics_bytes(companion.normalised, others);
  if (are_sent && now.norm_obs) {
    plan.statistics +=
        statistics_bytes(sizes.D, others) + statistics_bytes(sizes.critic.size, others);
  }
  const std::size_t parameters = ActorCritic(network_shape(now, envs.spec())).parameter_count();
  const int most = static_cast<int>(now.largest_minibatch());
  plan.gradient_ranks = RankRuns(partial_gradient_count(most, parameters), ranks).nodes;
  for (std::int64_t m = 0; m < now.minibatch_count(); ++m) {
    const std::int64_t begin = m * now.learnt_samples() / now.minibatch_count();
    const std::int64_t end = (m + 1) * now.learnt_samples() / now.minibatch_count();
    const int samples = static_cast<int>(end - begin);
    plan.gradient += now.update_epochs * (gradient_bytes(samples, parameters, ranks) +
                                          gradient_bytes(samples, companion.parameters, ranks));
  }
  return plan;
}

std::size_t rank_bytes(const RunSizes& run, int ranks) {
  if (ranks == 1) return 0;
  const std::size_t parameters = run.network.parameter_count();
  const std::size_t companion = run.companion.parameters;
  std::size_t block = 0;
  for (const BlockSizes& sizes : run.blocks) {
    block = std::max(block, exchanged_bytes_per_env(sizes) * static_cast<std::size_t>(sizes.N));
  }
  // Messages of the collector, and of the trainer's states: parameters and two Adam moments.
  const std::size_t state = 3 * sizeof(float) * (parameters + companion);
  return std::min(block, Exchange::kMostBytes) +
         std::min(std::max(block, state), Exchange::kMostBytes) +
         RankSums::bytes(parameters, ranks) + RankSums::bytes(companion, ranks);
}

}  // namespace broadloom
