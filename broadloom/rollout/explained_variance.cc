#include "broadloom/rollout/explained_variance.h"

#include <algorithm>
#include <limits>

#include "broadloom/math/chained_sum.h"

namespace broadloom {

namespace {

// The variance times the number of rows.
template <class Value>
double scaled_variance(std::size_t rows, std::span<const std::uint8_t> fillers, Value value) {
  const auto counts = [&](std::size_t i) { return fillers.empty() || fillers[i] == 0; };
  const auto left_out = std::count(fillers.begin(), fillers.end(), std::uint8_t{1});
  const double count = static_cast<double>(rows) - static_cast<double>(left_out);
  const double mean =
      chained_sum(rows, [&](std::size_t i) { return counts(i) ? value(i) : 0.0; }) / count;
  return chained_sum(
      rows, [&](std::size_t i) { return counts(i) ? (value(i) - mean) * (value(i) - mean) : 0.0; });
}

}  // namespace

double explained_variance(std::span<const float> advantages, std::span<const float> values,
                          std::span<const std::uint8_t> fillers) {
  const std::size_t rows = advantages.size();
  const double targets = scaled_variance(
      rows, fillers, [&](std::size_t i) { return static_cast<double>(advantages[i]) + values[i]; });
  if (targets == 0.0) return std::numeric_limits<double>::quiet_NaN();
  const double errors = scaled_variance(
      rows, fillers, [&](std::size_t i) { return static_cast<double>(advantages[i]); });
  return 1.0 - errors / targets;
}

}  // namespace broadloom
