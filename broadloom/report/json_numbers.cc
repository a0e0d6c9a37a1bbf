#include "broadloom/report/json_numbers.h"

#include <cmath>
#include <limits>

namespace broadloom {

double six_digits(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return 0.0;
  const double scale = std::pow(10.0, 5.0 - std::floor(std::log10(std::abs(x))));
  return std::isfinite(scale) && scale > 0.0 ? std::round(x * scale) / scale : x;
}

}  // namespace broadloom
