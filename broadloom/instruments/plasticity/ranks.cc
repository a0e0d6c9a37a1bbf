#include "broadloom/instruments/plasticity/ranks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

constexpr double kShare = 0.99;
constexpr double kLyleCutoff = 0.01;
// Tolerance: rounding must not put equal singular values on either side of a share.
constexpr double kTie = 1.0 - 1e-12;

// Smallest k whose first k weights make up kShare of the total.
template <class Weight>
double count_to_share(std::span<const double> values, Weight weight) {
  double total = 0.0;
  for (const double value : values) total += weight(value);
  double sum = 0.0;
  int k = 0;
  for (; k < static_cast<int>(values.size()) && sum < kShare * kTie * total; ++k) {
    sum += weight(values[k]);
  }
  return k;
}

double effective_rank(std::span<const double> values) {
  double total = 0.0;
  for (const double value : values) total += value;
  if (total == 0.0) return 0.0;
  double entropy = 0.0;
  for (const double value : values) {
    const double p = value / total;
    if (p > 0.0) entropy -= p * portable::log(p);
  }
  return portable::exp(entropy);
}

double count_above(std::span<const double> values, double cutoff) {
  return static_cast<double>(
      std::count_if(values.begin(), values.end(), [=](double value) { return value > cutoff; }));
}

}  // namespace

FeatureRanks feature_ranks(std::span<const double> singular_values, int rows, int columns) {
  if (singular_values.empty()) return {};
  const double precision = std::numeric_limits<float>::epsilon() * std::max(rows, columns);
  FeatureRanks ranks;
  ranks.approximate_rank = count_to_share(singular_values, [](double s) { return s * s; });
  ranks.effective_rank = effective_rank(singular_values);
  ranks.srank = count_to_share(singular_values, [](double s) { return s; });
  ranks.feature_rank = count_above(singular_values, kLyleCutoff * std::sqrt(rows));
  ranks.numeric_rank = count_above(singular_values, singular_values[0] * precision);
  return ranks;
}

}  // namespace broadloom
