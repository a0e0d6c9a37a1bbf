#include "broadloom/learn/relabelled.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {

Relabelled::Relabelled(const ActorCritic& network, const RelabelSettings& settings,
                       ThreadPool& pool)
    : network_(network), settings_(settings), pool_(pool), loss_{{}}, samples_(BlockSizes{}) {
  loss_.relabelled = this;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back({TileBatch<float>(network.shape()), network.make_workspace<float>()});
  }
}

// Without what gather() takes from the block.
BlockSizes Relabelled::sizes_of(const RelabelSettings& settings, const BlockSizes& block) {
  return {.T = block.T,
          .N = settings.followers * block.envs_per_policy(),
          .S = block.S,
          .with_fillers = block.with_fillers};
}

std::size_t Relabelled::bytes(const ActorCritic& network, const RelabelSettings& settings,
                              const BlockSizes& sizes, int threads) {
  const std::size_t scratch =
      TileBatch<float>(network.shape()).bytes() + network.make_workspace<float>().bytes();
  const BlockSizes own = sizes_of(settings, sizes);
  const std::size_t fillers = sizes.with_fillers ? sizes.size() + own.size() : 0;
  return static_cast<std::size_t>(threads) * scratch + RolloutBlock::bytes(own) + fillers +
         static_cast<std::size_t>(own.N) * sizeof(int);
}

void Relabelled::take(const RolloutBlock& block, const float* params, const ValueNormalizer* values,
                      std::uint64_t seed, std::int64_t iteration) {
  draw(block, seed, iteration);
  copy_facts(block);
  const int rows = static_cast<int>(samples_.size());
  pool_.run((rows + kTileRows - 1) / kTileRows, [&](int tile, int thread) {
    value_tile(block, params, tile, scratch_[static_cast<std::size_t>(thread)]);
  });
  value_after(block, params);
  if (values != nullptr) values->denormalize(samples_);
  compute_advantages(samples_, 0, samples_.N, settings_.gamma, 0.0, settings_.truncation_mode);
}

// The first steps of a shuffle by Fisher and Yates.
void Relabelled::draw(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration) {
  followers_.resize(static_cast<std::size_t>(block.policies - 1));
  std::iota(followers_.begin(), followers_.end(), 0);
  Random random(seed, Purpose::kFollowers, 0, static_cast<std::uint64_t>(iteration));
  envs_.clear();
  for (int k = 0; k < settings_.followers; ++k) {
    const auto first = static_cast<std::uint32_t>(k);
    const std::uint32_t left = static_cast<std::uint32_t>(followers_.size()) - first;
    std::swap(followers_[first], followers_[first + random.below(left)]);
    const int begin = followers_[first] * block.envs_per_policy();
    for (int n = begin; n < begin + block.envs_per_policy(); ++n) envs_.push_back(n);
  }
}

void Relabelled::copy_facts(const RolloutBlock& block) {
  samples_.reshape(sizes_of(settings_, block));
  for (std::size_t v = 0; v < samples_.size(); ++v) {
    const std::size_t i = source(block, v);
    samples_.rewards[v] = block.rewards[i];
    samples_.terminated[v] = block.terminated[i];
    samples_.truncated[v] = block.truncated[i];
    if (block.with_fillers) samples_.fillers[v] = block.fillers[i];
  }
  for (int n = 0; n < samples_.N; ++n) {
    const auto k = static_cast<std::size_t>(n);
    samples_.truncations[k] = block.truncations[static_cast<std::size_t>(envs_[k])];
  }
  fillers_ = block.fillers;
  fillers_.insert(fillers_.end(), samples_.fillers.begin(), samples_.fillers.end());
}

void Relabelled::value_tile(const RolloutBlock& block, const float* params, int tile,
                            Scratch& scratch) {
  const int first = tile * kTileRows;
  const int rows = std::min(kTileRows, static_cast<int>(samples_.size()) - first);
  std::array<std::int32_t, kTileRows> indices;
  std::iota(indices.begin(), indices.end(), static_cast<std::int32_t>(block.size()) + first);
  loss_.gather(block, indices.data(), rows, {}, NetworkSide::kBoth, scratch.tile);
  network_.forward(params, scratch.tile.input(), rows, scratch.work,
                   has_proximal() ? NetworkSide::kBoth : NetworkSide::kValue);
  std::copy_n(scratch.work.values.data(), rows, &samples_.values[static_cast<std::size_t>(first)]);
  if (!has_proximal()) return;
  set_log_probs(network_, scratch.tile, scratch.work);
  std::copy_n(scratch.tile.log_probs.data(), rows,
              &samples_.log_probs[static_cast<std::size_t>(first)]);
}

// Values of the observations after the block, and of final ones.
void Relabelled::value_after(const RolloutBlock& block, const float* params) {
  TileWorkspace<float>& work = scratch_[0].work;
  int rows = 0;
  std::array<float*, kTileRows> places;
  const auto flush = [&] {
    if (rows > 0) {
      network_.forward(params, work.critic_tile(), rows, work, NetworkSide::kValue);
    }
    for (int r = 0; r < rows; ++r) {
      *places[static_cast<std::size_t>(r)] = work.values[static_cast<std::size_t>(r)];
    }
    rows = 0;
  };
  const auto add = [&](const Observations& seen, std::size_t row, float& place) {
    const auto width = static_cast<std::size_t>(seen.type().size);
    seen.read(row, 1, work.critic_tile() + static_cast<std::size_t>(rows) * width);
    places[static_cast<std::size_t>(rows)] = &place;
    if (++rows == kTileRows) flush();
  };
  for (int n = 0; n < samples_.N; ++n) {
    const auto k = static_cast<std::size_t>(n);
    add(block.last_critic_inputs(), static_cast<std::size_t>(envs_[k]), samples_.last_values[k]);
    for (int s = 0; s < samples_.truncations[k]; ++s) {
      add(block.final_critic_inputs(), block.final_index(envs_[k], s),
          samples_.final_values[samples_.final_index(n, s)]);
    }
  }
  flush();
}

}  // namespace broadloom
