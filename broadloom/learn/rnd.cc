#include "broadloom/learn/rnd.h"

#include <algorithm>
#include <array>

#include "broadloom/learn/partial_gradients-inl.h"

namespace broadloom {

template class PartialGradients<RndLoss>;

Rnd::Rnd(const RndSettings& settings, int num_envs, int batch_size, int largest_minibatch,
         ThreadPool& pool, Ranks& ranks)
    : seed_(settings.seed),
      network_(settings.shape),
      pool_(pool),
      ranks_(ranks),
      statistics_(settings, num_envs),
      target_(network_.parameter_count()),
      targets_(static_cast<std::size_t>(batch_size) * settings.shape.action_outputs),
      draw_(settings.update_proportion, batch_size),
      gradients_(network_,
                 {&statistics_.observations(), targets_.data(), settings.shape.action_outputs},
                 largest_minibatch, settings.shape.observation_size, 1, pool, ranks) {
  network_.initialise(seed_, target_.data(), Purpose::kRndTarget);
  drawn_.reserve(static_cast<std::size_t>(largest_minibatch));
  for (int thread = 0; thread < pool.threads(); ++thread) {
    work_.push_back(network_.make_workspace<float>());
    tile_targets_.emplace_back(work_.back().policy.size());
  }
}

std::size_t Rnd::bytes(const RndSettings& settings, int num_envs, int batch_size,
                       int largest_minibatch, int threads) {
  const ActorCritic network(settings.shape);
  const std::size_t outputs = static_cast<std::size_t>(settings.shape.action_outputs);
  const std::size_t batch = static_cast<std::size_t>(batch_size);
  const std::size_t scratch =
      network.make_workspace<float>().bytes() + kTileRows * outputs * sizeof(float);
  return network.parameter_count() * sizeof(float) + batch * outputs * sizeof(float) + batch +
         static_cast<std::size_t>(largest_minibatch) * sizeof(std::int32_t) +
         static_cast<std::size_t>(threads) * scratch + RndStatistics::bytes(settings, num_envs) +
         PartialGradients<RndLoss>::bytes(network, largest_minibatch,
                                          settings.shape.observation_size, 1, threads);
}

void Rnd::take_block(const float* predictor, RolloutBlock& block) {
  pool_.run(statistics_.shards().count(), [&](int s, int thread) {
    take_rows(s, thread, predictor, block);
    statistics_.take_rewards(s, block);
  });
  statistics_.finish_rewards(block);
  losses_ = {};
}

Status Rnd::measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                    const float* params, std::int64_t version) {
  drawn_.clear();
  draw_.append(indices, samples, drawn_);
  const int count = static_cast<int>(drawn_.size());
  measured_ = gradients_.compute({block, drawn_.data(), count, {}, params, version});
  BROADLOOM_TRY(ranks_.status());
  return losses_.take(measured_.sums, count);
}

// Uses whole tiles of as many steps as fit, like the collector's critic.
void Rnd::take_rows(int s, int thread, const float* predictor, RolloutBlock& block) {
  const Shard shard = statistics_.shards()[s];
  TileWorkspace<float>& work = work_[static_cast<std::size_t>(thread)];
  AlignedVector<float>& targets = tile_targets_[static_cast<std::size_t>(thread)];
  const std::size_t rows = static_cast<std::size_t>(shard.size());
  const std::size_t width = static_cast<std::size_t>(block.D);
  const int outputs = network_.shape().action_outputs;
  float* const seen = work.observations.data();
  std::array<float, kTileRows> errors;
  const int most_steps = kTileRows / shard.size();
  for (int t = 0; t < block.T; t += most_steps) {
    const int steps = std::min(most_steps, block.T - t);
    const int all = steps * shard.size();
    for (int k = 0; k < steps; ++k) {
      read_next(block, block.index(t + k, shard.begin), rows,
                seen + static_cast<std::size_t>(k) * rows * width);
    }
    if (statistics_.are_own()) statistics_.observations().accumulate(s, seen, all);
    statistics_.observations().normalize(seen, all, seen);
    network_.forward(target_.data(), seen, all, work, NetworkSide::kPolicy);
    targets = work.policy;
    network_.forward(predictor, seen, all, work, NetworkSide::kPolicy);
    rnd_errors(work.policy.data(), targets.data(), outputs, all, errors.data());
    for (int k = 0; k < steps; ++k) {
      const std::size_t first = block.index(t + k, shard.begin);
      const std::size_t tile_row = static_cast<std::size_t>(k) * rows;
      std::copy_n(&errors[tile_row], rows, &block.int_rewards[first]);
      keep_targets(targets, tile_row, rows, first);
    }
  }
}

// Transposes targets from [outputs, kTileRows] to one row per sample.
void Rnd::keep_targets(const AlignedVector<float>& tile, std::size_t tile_row, std::size_t rows,
                       std::size_t block_row) {
  const std::size_t outputs = static_cast<std::size_t>(network_.shape().action_outputs);
  for (std::size_t r = 0; r < rows; ++r) {
    float* out = &targets_[(block_row + r) * outputs];
    for (std::size_t o = 0; o < outputs; ++o) out[o] = tile[o * kTileRows + tile_row + r];
  }
}

}  // namespace broadloom
