#include "broadloom/lab/critic_fit.h"

#include <algorithm>
#include <cmath>

#include "broadloom/algo/minibatch_update-inl.h"
#include "broadloom/instruments/explained_variance.h"

namespace broadloom {
namespace {

constexpr int kMinibatch = 1024;
constexpr int kEpochs = 4;
constexpr double kRate = 1e-3;
constexpr std::uint64_t kSeed = 1;  // of the minibatches

}  // namespace

void CriticLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                        const Context&, NetworkSide, Tile& tile) {
  const Observations& seen = block.seen_by_critic();
  tile.rows = rows;
  for (int r = 0; r < rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    seen.read(i, 1, &tile.observations[static_cast<std::size_t>(r) * seen.type().size]);
    tile.targets[r] = block.advantages[i] + block.values[i];
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
      pool_(pool),
      count_(count),
      learner_(policy.network.parameter_count()),
      update_(policy.network, {}, {kEpochs, 0.0, 1e-8}, shape.batch(),
              std::max(1, shape.batch() / kMinibatch), policy.spec.observation_size(),
              policy.spec.action_size(), pool) {
  std::copy_n(policy.params, policy.network.parameter_count(), learner_.params.data());
}

Status CriticFit::learn(const RolloutBlock& block) {
  if (learnt_ > 0) {
    explained_ = explained(block);
    own_explained_ = broadloom::explained_variance(block.advantages, block.values);
  }
  learner_.learning_rate =
      kRate * (1.0 - static_cast<double>(learnt_) / static_cast<double>(count_));
  ++learnt_;
  return update_.run(block, kSeed, learnt_, learner_, *this);
}

Status CriticFit::before_step(const MinibatchReport&, const CriticLoss::Sums& sums, Learner&) {
  if (std::isfinite(sums.loss)) return {};
  return {ErrorKind::kNumeric,
          "the critic could not be refitted: its loss is not finite; leave out agreement"};
}

double CriticFit::explained(const RolloutBlock& block) {
  const std::size_t count = block.size();
  std::vector<float> values(count), errors(count);
  const int tiles = tiles_of(static_cast<int>(count));
  std::vector<TileWorkspace<float>> works;
  works.reserve(static_cast<std::size_t>(pool_.threads()));
  for (int t = 0; t < pool_.threads(); ++t) works.push_back(network_.make_workspace<float>());
  pool_.run(tiles, [&](int tile, int thread) {
    const std::size_t begin = static_cast<std::size_t>(tile) * kTileRows;
    const std::size_t rows = std::min<std::size_t>(kTileRows, count - begin);
    TileWorkspace<float>& work = works[static_cast<std::size_t>(thread)];
    const float* seen = block.seen_by_critic().view(begin, rows, work.critic_tile());
    network_.forward(params(), seen, static_cast<int>(rows), work, NetworkSide::kValue);
    std::copy_n(work.values.data(), rows, &values[begin]);
  });
  for (std::size_t i = 0; i < count; ++i) {
    errors[i] = block.advantages[i] + block.values[i] - values[i];
  }
  return broadloom::explained_variance(errors, values);
}

Result<std::unique_ptr<CriticFit>> fit_critic(const Policy& policy, CompleteEpisodes& episodes,
                                              double gamma, ThreadPool& pool,
                                              const std::function<void(double)>& on_round) {
  const BlockShape shape{episodes.shape().num_envs, episodes.used_steps()};
  auto fit = std::make_unique<CriticFit>(policy, shape, episodes.rounds(), pool);
  for (std::int64_t round = 0; round < episodes.rounds(); ++round) {
    if (on_round) on_round(static_cast<double>(round) / static_cast<double>(episodes.rounds()));
    Result<std::unique_ptr<RolloutBlock>> block = episodes.collect(round);
    if (!block.ok()) return block.status();
    BROADLOOM_TRY(fit->learn(*with_returns(*block.value(), shape.num_steps, gamma)));
  }
  return fit;
}

std::unique_ptr<RolloutBlock> with_returns(const RolloutBlock& block, int steps, double gamma) {
  BlockSizes sizes = block;
  sizes.T = steps;
  sizes.S = 0;
  auto out = std::make_unique<RolloutBlock>(sizes);
  out->observations.write(0, block.observations, 0, out->size());
  if (block.has_critic()) {
    out->critic_observations.write(0, block.critic_observations, 0, out->size());
  }
  std::copy_n(block.values.begin(), out->values.size(), out->values.begin());
  std::vector<double> returns;
  for (int n = 0; n < block.N; ++n) {
    returns_to_end(block, n, gamma, returns);
    for (int t = 0; t < steps; ++t) {
      const std::size_t i = out->index(t, n);
      out->advantages[i] =
          static_cast<float>(returns[static_cast<std::size_t>(t)] - block.values[i]);
    }
  }
  return out;
}

}  // namespace broadloom
