// The samples of PPO's loss: counts, advantages, and tiles gathered from the block.
#include <algorithm>
#include <array>

#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/relabelled.h"

namespace broadloom {

std::size_t PpoLoss::samples(const RolloutBlock& block) const {
  return block.size() + (relabelled != nullptr ? relabelled->samples().size() : 0);
}

std::size_t PpoLoss::transitions(const RolloutBlock& block) const {
  return block.transitions() + (relabelled != nullptr ? relabelled->samples().transitions() : 0);
}

bool PpoLoss::is_filler(const RolloutBlock& block, std::size_t i) const {
  return i < block.size() ? block.is_filler(i) : relabelled->samples().is_filler(i - block.size());
}

float PpoLoss::advantage(const RolloutBlock& block, std::size_t i) const {
  if (i < block.size()) return learnt_advantage(block, coefficients, i);
  return learnt_advantage(relabelled->samples(), coefficients, i - block.size());
}

namespace {

// Copies rows `indices` [rows] of `source` [.., width] to columns [width, kTileRows].
void gather_columns(const float* source, std::size_t width, const std::int32_t* indices, int rows,
                    float* columns) {
  for (std::size_t i = 0; i < width; ++i) {
    for (int r = 0; r < rows; ++r) {
      columns[i * kTileRows + r] = source[static_cast<std::size_t>(indices[r]) * width + i];
    }
  }
}

}  // namespace

// Relabelled samples have values and targets of their own; all else is the block's.
void PpoLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const AdvantageShift& advantages, NetworkSide side, Tile& tile) const {
  tile.rows = rows;
  if (relabelled == nullptr) {
    gather_targets(block, indices, 0, rows, advantages, side, tile);
    gather_rows(block, indices, side, tile);
    return;
  }
  std::array<std::int32_t, kTileRows> ordered;
  const auto is_own = [&](std::int32_t i) { return static_cast<std::size_t>(i) < block.size(); };
  const auto middle = std::copy_if(indices, indices + rows, ordered.begin(), is_own);
  tile.relabelled = rows - static_cast<int>(middle - ordered.begin());
  std::remove_copy_if(indices, indices + rows, middle, is_own);
  tile.has_proximal = relabelled->has_proximal();
  gather_targets(block, ordered.data(), 0, tile.own_rows(), advantages, side, tile);
  for (auto i = middle; i != ordered.begin() + rows; ++i) {
    *i -= static_cast<std::int32_t>(block.size());
  }
  gather_targets(relabelled->samples(), ordered.data(), tile.own_rows(), rows, advantages, side,
                 tile);
  for (auto i = middle; i != ordered.begin() + rows; ++i) {
    *i = static_cast<std::int32_t>(relabelled->source(block, static_cast<std::size_t>(*i)));
  }
  gather_rows(block, ordered.data(), side, tile);
}

// Rows [begin, end) get advantages, old values and targets of `valued` at their indices.
void PpoLoss::gather_targets(const RolloutBlock& valued, const std::int32_t* indices, int begin,
                             int end, const AdvantageShift& advantages, NetworkSide side,
                             Tile& tile) const {
  if (side != NetworkSide::kValue) {
    for (int r = begin; r < end; ++r) {
      const std::size_t i = static_cast<std::size_t>(indices[r]);
      const float advantage = learnt_advantage(valued, coefficients, i);
      tile.advantages[r] = (advantage - advantages.mean) * advantages.scale;
    }
    if (tile.has_proximal && relabelled != nullptr) {
      for (int r = begin; r < end; ++r) {
        tile.proximal_log_probs[r] = valued.log_probs[static_cast<std::size_t>(indices[r])];
      }
    }
  }
  if (side == NetworkSide::kPolicy) return;
  for (int r = begin; r < end; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    tile.old_values[r] = valued.values[i];
    tile.value_targets[r] = valued.advantages[i] + valued.values[i];
  }
  if (values == nullptr) return;
  for (int r = begin; r < end; ++r) {
    tile.old_values[r] = values->old_output(tile.old_values[r]);
    tile.value_targets[r] = values->target(tile.value_targets[r]);
  }
}

// Copies all else that a side needs. Array by array: a row is short, so a test for each row and
// array would cost more than the copy.
void PpoLoss::gather_rows(const RolloutBlock& block, const std::int32_t* indices, NetworkSide side,
                          Tile& tile) const {
  const int rows = tile.rows;
  if (block.policies > 1) {
    for (int r = 0; r < rows; ++r) {
      const bool is_own = r < tile.own_rows();
      tile.policies[r] = is_own ? block.policy_of(indices[r] % block.N) : block.policies - 1;
    }
  }
  const bool has_policy = side != NetworkSide::kValue, has_value = side != NetworkSide::kPolicy;
  if (has_policy || !block.has_critic()) {
    block.observations.read_rows(indices, rows, tile.observations.data());
  }
  if (has_value && block.has_critic()) {
    block.critic_observations.read_rows(indices, rows, tile.critic_observations.data());
  }
  if (has_policy) {
    const auto columns = [&](const std::vector<float>& source, int width,
                             AlignedVector<float>& out) {
      gather_columns(source.data(), static_cast<std::size_t>(width), indices, rows, out.data());
    };
    columns(block.actions, block.A, tile.actions);
    columns(block.log_probs, 1, tile.old_log_probs);
    if (!block.means.empty()) {
      columns(block.means, block.mean_size(), tile.old_means);
      tile.old_log_std.assign(old_log_std.begin(), old_log_std.end());
    }
    for (int r = 0; block.M > 0 && r < rows; ++r) {
      std::copy_n(block.valid_row(static_cast<std::size_t>(indices[r])), block.M,
                  &tile.valid[static_cast<std::size_t>(r) * static_cast<std::size_t>(block.M)]);
    }
  }
  if (!has_value || !block.with_intrinsic) return;
  for (int r = 0; r < rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    tile.old_values[kTileRows + r] = block.int_values[i];
    tile.value_targets[kTileRows + r] = block.int_advantages[i] + block.int_values[i];
  }
}

}  // namespace broadloom
