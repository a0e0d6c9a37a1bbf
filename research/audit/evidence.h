// Statistics of one number over many iterations. Iterations where it is NaN are left out; if none
// is left, the result is NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "broadloom/instruments/audit/numbers.h"

namespace broadloom {

template <class Field>
std::vector<double> defined_values(std::span<const AuditNumbers> iterations, Field field) {
  std::vector<double> values;
  for (const AuditNumbers& numbers : iterations) {
    const double value = field(numbers);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

// The lower median if the count is even.
template <class Field>
double median_of(std::span<const AuditNumbers> iterations, Field field) {
  std::vector<double> values = defined_values(iterations, field);
  if (values.empty()) return AuditNumbers::kNone;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Field>
double largest_of(std::span<const AuditNumbers> iterations, Field field) {
  const std::vector<double> values = defined_values(iterations, field);
  return values.empty() ? AuditNumbers::kNone : *std::max_element(values.begin(), values.end());
}

// The share of ended episodes that the time limit ended.
inline double truncation_share(std::span<const AuditNumbers> iterations) {
  double ends = 0.0, truncations = 0.0;
  for (const AuditNumbers& numbers : iterations) {
    if (!(numbers.ends > 0.0)) continue;
    ends += numbers.ends;
    truncations += numbers.truncations;
  }
  return ends > 0.0 ? truncations / ends : AuditNumbers::kNone;
}

}  // namespace broadloom
