#include "research/lab/critic_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/learn/minibatch_update-inl.h"
#include "broadloom/rollout/advantages.h"

namespace broadloom {
namespace {

constexpr int kMinibatch = 1024;
constexpr int kEpochs = 8;  // per block
constexpr double kRate = 1e-3;
constexpr double kLambda = 0.95;
constexpr std::uint64_t kSeed = 1;  // of the minibatches

CriticLoss loss_of(const Policy& policy) {
  return {policy.value_norm == nullptr ? ValueUnit{} : policy.value_norm->unit()};
}

}  // namespace

void CriticLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                        const Context&, NetworkSide, Tile& tile) const {
  const Observations& seen = block.critic_inputs();
  tile.rows = rows;
  for (int r = 0; r < rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    seen.read(i, 1, &tile.observations[static_cast<std::size_t>(r) * seen.type().size]);
    tile.targets[r] = unit.output(block.advantages[i] + block.values[i]);
  }
}

void CriticLoss::add_gradient(const ActorCritic& network, int samples, const float* params,
                              const float* transposed, Tile& tile, TileWorkspace<float>& work,
                              float* grads, Sums& sums, NetworkSide side) {
  if (side == NetworkSide::kPolicy) return;
  const NetworkSide value = NetworkSide::kValue;
  const float share = 1.0f / static_cast<float>(samples);
  network.forward(params, tile.observations.data(), tile.rows, work, value);
  for (int r = 0; r < tile.rows; ++r) {
    const float error = work.values[r] - tile.targets[r];
    work.values_delta[r] = share * error;
    sums.loss += 0.5 * static_cast<double>(error) * error;
  }
  network.backward(params, transposed, tile.observations.data(), tile.rows, work, grads, value);
}

CriticFit::CriticFit(const Policy& policy, BlockShape shape, std::int64_t count, ThreadPool& pool)
    : network_(policy.network),
      value_norm_(policy.value_norm),
      pool_(pool),
      count_(count),
      learner_(policy.network.parameter_count()),
      update_(policy.network, loss_of(policy), {1, 0.0, 1e-8}, shape.batch(),
              std::max(1, shape.batch() / kMinibatch), policy.spec.observation_size(),
              policy.spec.action_size(), pool) {
  std::copy_n(policy.params, policy.network.parameter_count(), learner_.params.data());
}

Status CriticFit::learn(const RolloutBlock& block) {
  const double all = static_cast<double>(count_) * kEpochs;
  for (int epoch = 0; epoch < kEpochs; ++epoch, ++epochs_) {
    learner_.learning_rate = kRate * (1.0 - static_cast<double>(epochs_) / all);
    BROADLOOM_TRY(update_.run(block, kSeed, epochs_, learner_, *this));
  }
  return {};
}

void CriticFit::look(std::unique_ptr<RolloutBlock> returns) {
  held_out_ = std::move(returns);
  explained_ = broadloom::explained_variance(critic(), *held_out_);
}

Status CriticFit::before_step(const MinibatchReport&, const CriticLoss::Sums& sums, Learner&) {
  if (std::isfinite(sums.loss)) return {};
  return {ErrorKind::kNumeric,
          "the critic could not be refitted: its loss is not finite; leave out agreement"};
}

namespace {

// Sets advantages + values to the discounted returns to the end of the episodes.
void set_returns(RolloutBlock& block, double gamma) {
  std::vector<double> returns;
  for (int n = 0; n < block.N; ++n) {
    returns_to_end(block, n, gamma, returns);
    for (int t = 0; t < block.T; ++t) {
      const std::size_t i = block.index(t, n);
      block.advantages[i] =
          static_cast<float>(returns[static_cast<std::size_t>(t)] - block.values[i]);
    }
  }
}

// Sets the targets to lambda-returns of the fit so far. Steps after a block's longest episodes lie
// beyond the returns' range, or do not exist.
void set_lambda_returns(const CriticFit& fit, const TimeLimit& limit, double gamma,
                        FrozenBlock& block) {
  value_by(fit.critic(), block);
  compute_advantages(
      block, 0, block.N, gamma, kLambda,
      limit.beyond > 0 ? TruncationMode::kBootstrap : TruncationMode::kAsTermination);
}

}  // namespace

Result<std::unique_ptr<CriticFit>> fit_critic(const Policy& policy, CompleteEpisodes& episodes,
                                              double gamma, ThreadPool& pool,
                                              const std::function<Status(double)>& on_round) {
  const BlockShape shape{episodes.shape().num_envs * episodes.fewest_steps(), 1};
  const std::int64_t rounds = episodes.rounds();
  auto fit = std::make_unique<CriticFit>(policy, shape, rounds, pool);
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (on_round) {
      BROADLOOM_TRY(on_round(static_cast<double>(round) / static_cast<double>(rounds)));
    }
    Result<std::unique_ptr<FrozenBlock>> collected = episodes.collect(round);
    if (!collected.ok()) return collected.status();
    FrozenBlock& block = *collected.value();
    set_returns(block, gamma);
    if (round > 0 && round + 1 == rounds) fit->look(with_targets(episodes, block));
    if (2 * round >= rounds && round > 0) {
      set_lambda_returns(*fit, episodes.limit(), gamma, block);
    }
    BROADLOOM_TRY(fit->learn(*with_targets(episodes, block)));
  }
  return fit;
}

std::unique_ptr<RolloutBlock> with_targets(const CompleteEpisodes& episodes,
                                           const FrozenBlock& block) {
  std::vector<std::size_t> indices;
  for (int n = 0; n < block.N; ++n) {
    for (const int t : episodes.steps_of(block, n)) indices.push_back(block.index(t, n));
  }
  BlockSizes sizes = block;
  sizes.T = 1;
  sizes.N = block.N * episodes.fewest_steps();
  sizes.S = 0;
  auto out = std::make_unique<RolloutBlock>(sizes);
  const std::size_t count = out->size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = indices[i * indices.size() / count];
    out->observations.write(i, block.observations, k, 1);
    if (block.has_critic()) out->critic_observations.write(i, block.critic_observations, k, 1);
    out->values[i] = block.values[k];
    out->advantages[i] = block.advantages[k];
  }
  return out;
}

}  // namespace broadloom
