#include "broadloom/rollout/explained_variance.h"

#include <limits>

#include "broadloom/math/chained_sum.h"

namespace broadloom {

namespace {

template <class Value>
double variance_of(std::size_t count, Value value) {
  const double mean = chained_sum(count, value) / static_cast<double>(count);
  return chained_sum(count, [&](std::size_t i) { return (value(i) - mean) * (value(i) - mean); });
}

}  // namespace

double explained_variance(std::span<const float> advantages, std::span<const float> values) {
  const std::size_t count = advantages.size();
  const double targets = variance_of(
      count, [&](std::size_t i) { return static_cast<double>(advantages[i]) + values[i]; });
  if (targets == 0.0) return std::numeric_limits<double>::quiet_NaN();
  const double errors =
      variance_of(count, [&](std::size_t i) { return static_cast<double>(advantages[i]); });
  return 1.0 - errors / targets;
}

}  // namespace broadloom
