// The critic's values: the part of collector.h that runs after the steps of a block.
#include <algorithm>
#include <array>
#include <limits>

#include "broadloom/rollout/block_exchange.h"
#include "broadloom/rollout/collector.h"

namespace broadloom {
namespace {

// Reads raw rows as the network's inputs.
void read_inputs(const ObsNormalizer* normalizer, const Observations& raw, std::size_t first,
                 int rows, float* out) {
  if (normalizer == nullptr) return raw.read(first, static_cast<std::size_t>(rows), out);
  const std::size_t width = static_cast<std::size_t>(raw.type().size);
  normalizer->normalize(&raw.floats()[first * width], rows, out);
}

}  // namespace

// The policies of `steps` steps of the shard; null: there is one.
const std::int32_t* Collector::policies_of(Shard shard, int steps, Scratch& scratch,
                                           const RolloutBlock& block) {
  if (block.policies == 1) return nullptr;
  std::int32_t* out = scratch.policies.data();
  for (int k = 0; k < steps; ++k) {
    for (int n = shard.begin; n < shard.end; ++n) *out++ = block.policy_of(n);
  }
  return scratch.policies.data();
}

// Copies the values of tile rows from tile_row on to the block.
void Collector::keep_values(const TileWorkspace<float>& work, std::size_t tile_row,
                            std::size_t rows, std::size_t block_row, RolloutBlock& block) {
  std::copy_n(&work.values[tile_row], rows, &block.values[block_row]);
  if (block.with_intrinsic)
    std::copy_n(&work.values[kTileRows + tile_row], rows, &block.int_values[block_row]);
}

// No value is needed before the block is complete, and whole tiles are faster than a few rows at
// each step.
void Collector::value_rows(Shard shard, Scratch& scratch, const float* params,
                           RolloutBlock& block) {
  const std::size_t rows = static_cast<std::size_t>(shard.size());
  const int most_steps = kTileRows / shard.size();
  const Observations& seen = block.critic_inputs();
  const std::size_t width = static_cast<std::size_t>(seen.type().size);
  std::array<int, kTileRows> slots{};
  for (int t = 0; t < block.T; t += most_steps) {
    const std::size_t steps = static_cast<std::size_t>(std::min(most_steps, block.T - t));
    float* tile = scratch.work.critic_tile();
    for (std::size_t k = 0; k < steps; ++k) {
      seen.read(block.index(t + k, shard.begin), rows, tile + k * rows * width);
    }
    read_value_states(shard, t, static_cast<int>(steps), scratch.work, block);
    NetworkInput<float> input(tile);
    input.policies = policies_of(shard, static_cast<int>(steps), scratch, block);
    network_.forward(params, input, static_cast<int>(steps * rows), scratch.work,
                     NetworkSide::kValue);
    keep_value_states(shard, t, static_cast<int>(steps), scratch.work, slots, block);
    for (std::size_t k = 0; k < steps; ++k) {
      keep_values(scratch.work, k * rows, rows, block.index(t + static_cast<int>(k), shard.begin),
                  block);
    }
  }
}

void Collector::bootstrap_values(const float* params, RolloutBlock& block) {
  if (simulator_.whole_batch) observe({0, envs_.num_envs()}, {whole_, 0});
  pool_.run(static_cast<int>(groups_.size()), [&](int group, int thread) {
    bootstrap_rows(groups_[group], scratch_[thread], params, block);
  });
  add_arrays(block, BlockStage::kBootstrap, cut_.env_bounds(), exchange_);
  exchange_.finish();
}

void Collector::bootstrap_rows(const Group& group, Scratch& scratch, const float* params,
                               RolloutBlock& block) {
  const Shard shard = group.rows;
  const float* values = scratch.work.values.data();
  const GroupRows rows = rows_of(group, scratch);
  if (!simulator_.whole_batch) observe(shard, rows);
  float* tile = scratch.work.critic_tile();
  if (block.has_critic()) {
    read_inputs(normalizers_.critic, rows.envs.critic.now, rows.first, shard.size(), tile);
  } else {
    read_inputs(normalizers_.policy, rows.envs.policy.now, rows.first, shard.size(), tile);
  }
  read_states(block.next_states.data() + shard.begin * network_.state_size(), shard.size(),
              scratch.work);
  NetworkInput<float> input(tile);
  input.policies = policies_of(shard, 1, scratch, block);
  network_.forward(params, input, shard.size(), scratch.work, NetworkSide::kValue);
  std::copy_n(values, shard.size(), &block.last_values[shard.begin]);
  if (block.with_intrinsic) {
    std::copy_n(values + kTileRows, shard.size(), &block.last_int_values[shard.begin]);
  }
  if (block.with_last()) {
    const auto first = static_cast<std::size_t>(shard.begin);
    keep(normalizers_.policy, rows.envs.policy.now, rows.first, shard.size(),
         block.last_observations, first);
    if (block.policies > 1 && block.has_critic()) {
      keep(normalizers_.critic, rows.envs.critic.now, rows.first, shard.size(),
           block.last_critic_observations, first);
    }
  }
  if (simulator_.has_final_observations) {
    value_final_observations(shard, scratch, params, block);
  } else {
    std::fill(block.final_values.begin() + block.final_index(shard.begin, 0),
              block.final_values.begin() + block.final_index(shard.end, 0),
              std::numeric_limits<float>::quiet_NaN());
  }
}

// Truncated episodes are few and spread over environments, so they are gathered into tiles.
void Collector::value_final_observations(Shard shard, Scratch& scratch, const float* params,
                                         RolloutBlock& block) {
  std::array<std::size_t, kTileRows> places;
  int rows = 0;
  const Observations& finals = block.final_critic_inputs();
  const std::size_t size = network_.state_size();
  float* tile = scratch.work.critic_tile();
  const auto flush = [&] {
    if (rows == 0) return;
    scratch.work.states.begin(rows);
    NetworkInput<float> input(tile);
    if (block.policies > 1) input.policies = scratch.policies.data();
    network_.forward(params, input, rows, scratch.work, NetworkSide::kValue);
    for (int r = 0; r < rows; ++r) block.final_values[places[r]] = scratch.work.values[r];
    rows = 0;
  };
  for (int n = shard.begin; n < shard.end; ++n) {
    for (int s = 0; s < block.truncations[n]; ++s) {
      places[rows] = block.final_index(n, s);
      scratch.policies[static_cast<std::size_t>(rows)] = block.policy_of(n);
      std::copy_n(block.final_states.data() + places[rows] * size, size,
                  scratch.work.states.before.data() + rows * size);
      finals.read(places[rows], 1, tile + static_cast<std::size_t>(rows) * finals.type().size);
      if (++rows == kTileRows) flush();
    }
  }
  flush();
}

}  // namespace broadloom
