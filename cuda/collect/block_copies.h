// The arrays of a block on a side (cuda/sides) beside those of the host's block, for copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/rollout/block.h"
#include "cuda/collect/device_rollout.h"

namespace broadloom::cuda {

// Calls f(on the host, on the side, count) for the numbers of these rows. Frames stored once have
// the host's layout, with their ages behind them.
template <class F>
void each_part(const DeviceObservations& here, const DeviceRollout& kept, Observations& rows,
               F&& f) {
  if (rows.size() == 0) return;
  if (!here.frames.is_there()) {
    return here.visit([&](auto* numbers) {
      using Number = std::remove_pointer_t<decltype(numbers)>;
      f(rows.rows().template as<Number>(), numbers, rows.size());
    });
  }
  const std::size_t N = static_cast<std::size_t>(kept.N);
  std::uint8_t* next = here.bytes;
  rows.visit_lines(static_cast<std::size_t>(kept.T), N,
                   [&](auto* target, std::size_t lines, std::size_t unit) {
                     if constexpr (sizeof(*target) == 1) f(target, next, lines * N * unit);
                     next = here.frames.ages;
                   });
}

// The same for every array that a block has before its targets (BlockStage::kTargets).
template <class F>
void each_collected(const DeviceRollout& kept, RolloutBlock& block, F&& f) {
  const auto pass = [&f](auto& on_host, auto* here) {
    if (!on_host.empty()) f(on_host.data(), here, on_host.size());
  };
  pass(block.rewards, kept.rewards);
  pass(block.terminated, kept.terminated);
  pass(block.truncated, kept.truncated);
  pass(block.ends, kept.outcomes);
  pass(block.values, kept.values);
  pass(block.last_values, kept.last_values);
  pass(block.final_values, kept.final_values);
  pass(block.valid_actions, kept.choices.valid);
  pass(block.actions, kept.actions);
  pass(block.log_probs, kept.log_probs);
  pass(block.means, kept.means);
  pass(block.truncations, kept.truncations);
  pass(block.int_values, kept.int_values);
  pass(block.last_int_values, kept.last_int_values);
  each_part(kept.observations, kept, block.observations, f);
  each_part(kept.final_observations, kept, block.final_observations, f);
  each_part(kept.critic.observations, kept, block.critic_observations, f);
  each_part(kept.critic.final_observations, kept, block.final_critic_observations, f);
  each_part(kept.last_observations, kept, block.last_observations, f);
}

}  // namespace broadloom::cuda
