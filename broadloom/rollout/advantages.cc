#include "broadloom/rollout/advantages.h"

#include <algorithm>

namespace broadloom {
namespace {

// Neighbouring environments whose sums of weights stay on the stack.
constexpr int kStrip = 64;

// All steps of one environment, with every kind of episode end.
void compute_column(RolloutBlock& block, int n, Discounts discounts, TruncationMode mode) {
  float next_value = block.last_values[n];
  float next_advantage = 0.0f;
  float sum = 0.0f;
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
      sum = 1.0f;
    } else if (block.terminated[i] != 0) {
      advantage = reward - value;
      sum = 1.0f;
    } else {
      if (discounts.weights == GaeWeights::kNormalised) {
        discounts.gamma_lambda = normalised_trace(discounts, sum);
      }
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

// The same with normalised weights. sums: see normalised_trace().
void compute_normalised_row(const float* rewards, const float* values,
                            const std::uint8_t* terminated, const float* next_values,
                            const float* next_advantages, int count, Discounts discounts,
                            float* sums, float* advantages) {
#pragma GCC ivdep
  for (int n = 0; n < count; ++n) {
    float sum = sums[n];
    Discounts own = discounts;
    own.gamma_lambda = normalised_trace(discounts, sum);
    const float continuing =
        continuing_advantage(own, rewards[n], values[n], next_values[n], next_advantages[n]);
    const float ended = rewards[n] - values[n];
    advantages[n] = terminated[n] != 0 ? ended : continuing;
    sums[n] = terminated[n] != 0 ? 1.0f : sum;
  }
}

// Calls row(i, next_values, next_advantages) for each step of the environments, the last step
// first. i: index of the step and of environment `begin`.
template <class Row>
void each_row(RolloutBlock& block, int begin, int end, Row&& row) {
  float* after_last = &block.advantages[block.index(block.T - 1, begin)];
  std::fill_n(after_last, end - begin, 0.0f);  // no advantage comes after the block
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, begin);
    const bool last = t == block.T - 1;
    row(i, last ? &block.last_values[begin] : &block.values[i + block.N],
        last ? after_last : &block.advantages[i + block.N]);
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
  const Discounts discounts = Discounts::make(gamma, gae_lambda);
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
                        TruncationMode mode, GaeWeights weights) {
  const Discounts discounts = Discounts::make(gamma, gae_lambda, weights);
  if (weights == GaeWeights::kGeometric) {
    each_row(block, begin, end, [&](std::size_t i, const float* values, const float* advantages) {
      compute_row(&block.rewards[i], &block.values[i], &block.terminated[i], values, advantages,
                  end - begin, discounts, &block.advantages[i]);
    });
  } else {
    for (int first = begin; first < end; first += kStrip) {
      const int count = std::min(kStrip, end - first);
      float sums[kStrip] = {};
      each_row(block, first, first + count,
               [&](std::size_t i, const float* values, const float* advantages) {
                 compute_normalised_row(&block.rewards[i], &block.values[i], &block.terminated[i],
                                        values, advantages, count, discounts, sums,
                                        &block.advantages[i]);
               });
    }
  }
  for (int n = begin; n < end; ++n) {
    if (block.truncations[n] > 0) compute_column(block, n, discounts, mode);
  }
}

}  // namespace broadloom
