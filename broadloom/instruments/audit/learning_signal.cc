#include "broadloom/instruments/audit/learning_signal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/math/chained_sum.h"

namespace broadloom {
namespace {

constexpr double kNoSignal = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostEnds = 256;

bool ended(const RolloutBlock& block, std::size_t i) {
  return (block.terminated[i] | block.truncated[i]) != 0;
}

double final_value(const RolloutBlock& block, int t, int n) {
  int slot = 0;
  for (int s = 0; s < t; ++s) slot += block.truncated[block.index(s, n)];
  return block.final_values[block.final_index(n, slot)];
}

double sum_of_squares_about(const RolloutBlock& block, double mean) {
  return chained_sum(block.size(), [&](std::size_t i) {
    return (block.advantages[i] - mean) * (block.advantages[i] - mean);
  });
}

double mean_advantage(const RolloutBlock& block) {
  return chained_sum(block.size(),
                     [&](std::size_t i) { return static_cast<double>(block.advantages[i]); }) /
         static_cast<double>(block.size());
}

double target(const RolloutBlock& block, std::size_t i) {
  return static_cast<double>(block.advantages[i]) + block.values[i];
}

// Sums the definition. Weights (gamma lambda)^k below 1e-12 add nothing that float32 could
// represent.
double advantage_at(const RolloutBlock& block, int t, int n, double gamma, double trace,
                    TruncationMode mode) {
  double sum = 0.0, weight = 1.0;
  for (; t < block.T && weight > 1e-12; ++t, weight *= trace) {
    sum += weight * td_error(block, t, n, gamma, mode);
    if (ended(block, block.index(t, n))) break;
  }
  return sum;
}

// The same with normalised weights.
double normalised_advantage_at(const RolloutBlock& block, int t, int n, double gamma, double lambda,
                               TruncationMode mode) {
  double powers = 0.0, power = 1.0;
  int end = t;  // behind the last TD error that counts
  while (end < block.T && power > 1e-12) {
    powers += power;
    power *= lambda;
    if (ended(block, block.index(end++, n))) break;
  }
  double sum = 0.0, left = powers, discount = 1.0;
  power = 1.0;
  for (; t < end; ++t) {
    sum += discount * (left / powers) * td_error(block, t, n, gamma, mode);
    left -= power;
    power *= lambda;
    discount *= gamma;
  }
  return sum;
}

}  // namespace

double td_error(const RolloutBlock& block, int t, int n, double gamma, TruncationMode mode) {
  const std::size_t i = block.index(t, n);
  const double value = block.values[i], reward = block.rewards[i];
  if (block.terminated[i] != 0) return reward - value;
  if (block.truncated[i] != 0) {
    if (mode == TruncationMode::kZero) return 0.0;
    if (mode == TruncationMode::kAsTermination) return reward - value;
    const double next = mode == TruncationMode::kStateValue ? value : final_value(block, t, n);
    return reward + gamma * next - value;
  }
  const double next = t + 1 < block.T ? block.values[i + block.N] : block.last_values[n];
  return reward + gamma * next - value;
}

AdvantageScale advantage_scale(const RolloutBlock& block) {
  const double count = static_cast<double>(block.size());
  const double mean = mean_advantage(block);
  const double squares = sum_of_squares_about(block, mean);
  const double targets =
      chained_sum(block.size(), [&](std::size_t i) { return target(block, i) * target(block, i); });
  double largest = 0.0;
  for (const float advantage : block.advantages) {
    largest = std::max(largest, (advantage - mean) * (advantage - mean));
  }
  AdvantageScale scale;
  scale.deviation =
      targets > 0.0 ? std::sqrt(squares / count) / std::sqrt(targets / count) : kNoSignal;
  scale.dominance = squares > 0.0 ? largest / squares : kNoSignal;
  return scale;
}

double target_deviation(const RolloutBlock& block) {
  const double count = static_cast<double>(block.size());
  const double mean =
      chained_sum(block.size(), [&](std::size_t i) { return target(block, i); }) / count;
  return std::sqrt(chained_sum(block.size(),
                               [&](std::size_t i) {
                                 const double off = target(block, i) - mean;
                                 return off * off;
                               }) /
                   count);
}

double target_error(const RolloutBlock& block, double gamma, double gae_lambda, TruncationMode mode,
                    GaeWeights weights) {
  const double squares = chained_sum(block.size(), [&](std::size_t i) {
    const double advantage = block.advantages[i], value = block.values[i];
    const double reward = block.rewards[i];
    return advantage * advantage + value * value + reward * reward;
  });
  const double size = std::sqrt(squares / static_cast<double>(block.size()));
  const std::size_t stride = count_ends(block).ends / kMostEnds + 1;
  double worst = 0.0;
  const auto look = [&](int t, int n) {
    if (t < 0 || t >= block.T) return;
    const double expected = weights == GaeWeights::kNormalised
                                ? normalised_advantage_at(block, t, n, gamma, gae_lambda, mode)
                                : advantage_at(block, t, n, gamma, gamma * gae_lambda, mode);
    worst = std::max(worst, std::abs(expected - block.advantages[block.index(t, n)]));
  };
  std::size_t seen = 0;
  for (int n = 0; n < block.N; ++n) {
    for (int t = 0; t < block.T; ++t) {
      if (!ended(block, block.index(t, n)) || seen++ % stride != 0) continue;
      for (const int row : {t - 1, t, t + 1}) look(row, n);
    }
  }
  const int columns = std::min(block.N, static_cast<int>(kMostEnds));
  for (int c = 0; c < columns; ++c) {
    look(block.T - 1, static_cast<int>(std::int64_t{c} * block.N / columns));
  }
  return worst > 0.0 ? worst / size : 0.0;
}

EpisodeEnds count_ends(const RolloutBlock& block) {
  EpisodeEnds count;
  for (std::size_t i = 0; i < block.size(); ++i) {
    count.ends += ended(block, i) ? 1 : 0;
    count.truncations += block.truncated[i];
  }
  return count;
}

}  // namespace broadloom
