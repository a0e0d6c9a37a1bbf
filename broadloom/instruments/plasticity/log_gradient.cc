#include "broadloom/instruments/plasticity/log_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

constexpr double kEpsilon = 1e-8;

// Sums of powers of l - middle.
struct Powers {
  double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
  void add(double x) {
    const double square = x * x;
    first += x;
    second += square;
    third += square * x;
    fourth += square * square;
  }
};

// Converts sums of powers about any point to the ratio of central moments.
double kurtosis_of(const Powers& sums, double count) {
  const double m1 = sums.first / count, m2 = sums.second / count;
  const double m3 = sums.third / count, m4 = sums.fourth / count;
  const double variance = m2 - m1 * m1;
  const double fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1 * m1 * m2 - 3.0 * m1 * m1 * m1 * m1;
  if (variance <= 1e-12 * m2 || variance == 0.0) return std::numeric_limits<double>::quiet_NaN();
  return fourth / (variance * variance);
}

}  // namespace

// Powers are taken about a point within the data, so that the shift to the mean loses few digits.
LogGradient log_gradient(std::span<const float> gradient) {
  const double count = static_cast<double>(gradient.size());
  double size = 0.0;
  for (const float g : gradient) size += std::abs(static_cast<double>(g));
  const double middle = portable::log(size / count + kEpsilon);
  Powers sums;
  for (const float g : gradient) {
    sums.add(portable::log(std::abs(static_cast<double>(g)) + kEpsilon) - middle);
  }
  const auto zeros = std::count(gradient.begin(), gradient.end(), 0.0f);
  return {kurtosis_of(sums, count), 100.0 * static_cast<double>(zeros) / count};
}

}  // namespace broadloom
