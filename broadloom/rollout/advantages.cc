#include "broadloom/rollout/advantages.h"

#include <algorithm>

namespace broadloom {
namespace {

// All steps of one environment, with every kind of episode end.
void compute_column(RolloutBlock& block, int n, Discounts discounts, TruncationMode mode) {
  float next_value = block.last_values[n];
  float next_advantage = 0.0f;
  int slot = block.truncations[n];
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, n);
    const float value = block.values[i];
    const float reward = block.rewards[i];
    float advantage;
    if (block.truncated[i] != 0) {
      --slot;
      advantage = truncated_delta(mode, reward, discounts.gamma, value,
                                  block.final_values[block.final_index(n, slot)]);
    } else if (block.terminated[i] != 0) {
      advantage = reward - value;
    } else {
      advantage = continuing_advantage(discounts, reward, value, next_value, next_advantage);
    }
    block.advantages[i] = advantage;
    next_advantage = advantage;
    next_value = value;
  }
}

// Step t of `count` neighbouring environments, without truncations. It has no branches so that the
// compiler vectorises it.
void compute_row(const float* rewards, const float* values, const std::uint8_t* terminated,
                 const float* next_values, const float* next_advantages, int count,
                 Discounts discounts, float* advantages) {
#pragma GCC ivdep
  for (int n = 0; n < count; ++n) {
    const float continuing =
        continuing_advantage(discounts, rewards[n], values[n], next_values[n], next_advantages[n]);
    const float ended = rewards[n] - values[n];
    advantages[n] = terminated[n] != 0 ? ended : continuing;
  }
}

// Intrinsic rewards continue across episode ends.
void compute_intrinsic_row(const float* rewards, float scale, const float* values,
                           const float* next_values, const float* next_advantages, int count,
                           Discounts discounts, float* advantages) {
#pragma GCC ivdep
  for (int n = 0; n < count; ++n) {
    advantages[n] = continuing_advantage(discounts, rewards[n] * scale, values[n], next_values[n],
                                         next_advantages[n]);
  }
}

}  // namespace

void compute_intrinsic_advantages(RolloutBlock& block, int begin, int end, double gamma,
                                  double gae_lambda, double scale) {
  const Discounts discounts{static_cast<float>(gamma), static_cast<float>(gamma * gae_lambda)};
  float* after_last = &block.int_advantages[block.index(block.T - 1, begin)];
  std::fill_n(after_last, end - begin, 0.0f);  // no advantage comes after the block
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, begin);
    const bool last = t == block.T - 1;
    compute_intrinsic_row(&block.int_rewards[i], static_cast<float>(scale), &block.int_values[i],
                          last ? &block.last_int_values[begin] : &block.int_values[i + block.N],
                          last ? after_last : &block.int_advantages[i + block.N], end - begin,
                          discounts, &block.int_advantages[i]);
  }
}

// Row by row, as memory is laid out. The few environments with a truncation in the block are then
// computed again one by one.
void compute_advantages(RolloutBlock& block, int begin, int end, double gamma, double gae_lambda,
                        TruncationMode mode) {
  const Discounts discounts{static_cast<float>(gamma), static_cast<float>(gamma * gae_lambda)};
  float* after_last = &block.advantages[block.index(block.T - 1, begin)];
  std::fill_n(after_last, end - begin, 0.0f);  // no advantage comes after the block
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, begin);
    const bool last = t == block.T - 1;
    compute_row(&block.rewards[i], &block.values[i], &block.terminated[i],
                last ? &block.last_values[begin] : &block.values[i + block.N],
                last ? after_last : &block.advantages[i + block.N], end - begin, discounts,
                &block.advantages[i]);
  }
  for (int n = begin; n < end; ++n) {
    if (block.truncations[n] > 0) compute_column(block, n, discounts, mode);
  }
}

}  // namespace broadloom
