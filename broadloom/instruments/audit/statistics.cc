#include "broadloom/instruments/audit/statistics.h"

#include <algorithm>
#include <cmath>

namespace broadloom {

ObservationScale observation_scale(const RolloutBlock& block, double clip,
                                   std::span<double> scratch) {
  const std::size_t size = static_cast<std::size_t>(block.D);
  const std::span<double> sums = scratch.first(size), squares = scratch.subspan(size, size);
  std::fill(scratch.begin(), scratch.end(), 0.0);
  const float edge = static_cast<float>(clip);
  std::size_t at_edge = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const float* row = &block.observations.floats()[i * size];
    for (std::size_t d = 0; d < size; ++d) {
      sums[d] += row[d];
      squares[d] += static_cast<double>(row[d]) * row[d];
      at_edge += std::abs(row[d]) >= edge ? 1 : 0;
    }
  }
  const double count = static_cast<double>(block.size());
  ObservationScale scale;
  for (std::size_t d = 0; d < size; ++d) {
    const double mean = sums[d] / count;
    scale.mean = std::max(scale.mean, std::abs(mean));
    scale.variance = std::max(scale.variance, squares[d] / count - mean * mean);
  }
  scale.clipped = static_cast<double>(at_edge) / static_cast<double>(block.observations.size());
  return scale;
}

double rewards_clipped(const RolloutBlock& block, double clip) {
  const float edge = static_cast<float>(clip);
  const auto clipped = std::count_if(block.rewards.begin(), block.rewards.end(),
                                     [edge](float reward) { return std::abs(reward) >= edge; });
  return static_cast<double>(clipped) / static_cast<double>(block.size());
}

double actions_outside(const RolloutBlock& block, const Space& space) {
  const std::size_t size = static_cast<std::size_t>(block.A);
  const auto choices = static_cast<std::size_t>(space.choice_count());
  const std::size_t numbers = block.actions.size() / size * (size - choices);
  std::size_t outside = 0;
  for (std::size_t i = 0; i < block.actions.size(); ++i) {
    if (i % size < choices) continue;
    const float action = block.actions[i];
    outside += action < space.low[i % size] || action > space.high[i % size] ? 1 : 0;
  }
  return static_cast<double>(outside) / static_cast<double>(numbers);
}

}  // namespace broadloom
