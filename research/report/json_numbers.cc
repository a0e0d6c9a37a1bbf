#include "research/report/json_numbers.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace broadloom {

// Rounds by way of text, whose digits are exact; powers and logarithms of ten depend on the C
// library.
double six_digits(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  const std::string text = fmt::format("{:.5e}", x);
  double rounded = x;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded == 0.0 ? 0.0 : rounded;
}

Json estimate_json(const Estimate& e) {
  return {{"value", six_digits(e.value)},
          {"low", six_digits(e.low)},
          {"high", six_digits(e.high)},
          {"count", e.count}};
}

}  // namespace broadloom
