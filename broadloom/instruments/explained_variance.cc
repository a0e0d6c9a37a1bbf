#include "broadloom/instruments/explained_variance.h"

#include <limits>

namespace broadloom {

namespace {

// Sum of term(i) for i below count, in eight interleaved chains that need not wait for each other.
template <class Term>
double sum_of(std::size_t count, Term term) {
  double chains[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) chains[k] += term(i + k);
  }
  for (; i < count; ++i) chains[i % 8] += term(i);
  double sum = 0.0;
  for (const double chain : chains) sum += chain;
  return sum;
}

template <class Value>
double variance_of(std::size_t count, Value value) {
  const double mean = sum_of(count, value) / static_cast<double>(count);
  return sum_of(count, [&](std::size_t i) { return (value(i) - mean) * (value(i) - mean); });
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
