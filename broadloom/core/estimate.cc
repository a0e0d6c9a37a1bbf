#include "broadloom/core/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace broadloom {
namespace {

// Newcombe's phi: a continuity correction moves a positive phi towards 0.
double paired_phi(double both, double first, double second, double neither) {
  const double n = both + first + second + neither;
  const double margins = (both + first) * (second + neither) * (both + second) * (first + neither);
  if (margins <= 0.0) return 0.0;
  double cross = both * neither - first * second;
  if (cross > 0.0) cross = std::max(0.0, cross - n / 2.0);
  return cross / std::sqrt(margins);
}

}  // namespace

Estimate without_interval(double value, std::int64_t count) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {value, kNone, kNone, count};
}

Estimate success_rate(std::int64_t successes, std::int64_t count) {
  constexpr double z = 1.959963984540054;  // normal quantile for kConfidence
  const double n = static_cast<double>(count);
  const double rate = static_cast<double>(successes) / n;
  const double centre = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double half =
      z / (1.0 + z * z / n) * std::sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n));
  // The exact limit at an end is the end itself; the formula would miss it by rounding.
  const double low = successes == 0 ? 0.0 : centre - half;
  const double high = successes == count ? 1.0 : centre + half;
  return {rate, low, high, count};
}

double plain_mean(const std::vector<double>& values) {
  if (values.empty()) return 0.0;
  const bool are_equal =
      std::all_of(values.begin(), values.end(), [&](double x) { return x == values.front(); });
  if (are_equal) return values.front();
  const double n = static_cast<double>(values.size());
  double mean = 0.0;
  for (const double x : values) mean += x / n;  // in this way, since records keep such means
  return mean;
}

Estimate mean_of(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  const double mean = plain_mean(values);
  double squares = 0.0;
  if (count < 2) return without_interval(mean, count);
  for (const double x : values) squares += (x - mean) * (x - mean);
  const double half = student_t(static_cast<int>(count) - 1) * std::sqrt(squares / (n - 1.0) / n);
  return {mean, mean - half, mean + half, count};
}

Estimate paired_rate_difference(std::int64_t both, std::int64_t first, std::int64_t second,
                                std::int64_t neither) {
  const std::int64_t count = both + first + second + neither;
  const Estimate a = success_rate(both + first, count), b = success_rate(both + second, count);
  const double phi = paired_phi(static_cast<double>(both), static_cast<double>(first),
                                static_cast<double>(second), static_cast<double>(neither));
  const auto joined = [phi](double x, double y) {
    return std::sqrt(std::max(0.0, x * x - 2.0 * phi * x * y + y * y));
  };
  const double value = b.value - a.value;
  return {value, value - joined(b.value - b.low, a.high - a.value),
          value + joined(b.high - b.value, a.value - a.low), count};
}

double student_t(int freedom) {
  if (freedom <= 1) return 12.706204736174705;
  if (freedom == 2) return 4.302652729749464;
  constexpr double x = 1.959963984540054;  // normal quantile
  const double n = freedom;
  const double x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x, x9 = x7 * x * x;
  return x + (x3 + x) / (4.0 * n) + (5.0 * x5 + 16.0 * x3 + 3.0 * x) / (96.0 * n * n) +
         (3.0 * x7 + 19.0 * x5 + 17.0 * x3 - 15.0 * x) / (384.0 * n * n * n) +
         (79.0 * x9 + 776.0 * x7 + 1482.0 * x5 - 1920.0 * x3 - 945.0 * x) /
             (92160.0 * n * n * n * n);
}

Estimate jackknife(int groups, std::int64_t count, const std::function<double(int)>& statistic) {
  const double value = statistic(-1);
  if (groups < 2) return without_interval(value, count);
  std::vector<double> left_out(static_cast<std::size_t>(groups));
  double mean = 0.0;
  for (int g = 0; g < groups; ++g) {
    left_out[g] = statistic(g);
    mean += left_out[g] / groups;
  }
  double squares = 0.0;
  for (const double s : left_out) squares += (s - mean) * (s - mean);
  const double error = std::sqrt(squares * (groups - 1.0) / groups);
  const double half = student_t(groups - 1) * error;
  return {value, value - half, value + half, count};
}

Estimate at_least(Estimate estimate, double error, int groups) {
  const double half = student_t(groups - 1) * error;
  estimate.low = std::min(estimate.low, estimate.value - half);
  estimate.high = std::max(estimate.high, estimate.value + half);
  return estimate;
}

// Tr(S^2) is the mean over pairs of <x_g - m, x_h - m>^2, where m is the mean of all. This is exact
// up to a factor of 1 + O(1 / G), because m contains a share of every x.
double noise_error(const std::vector<double>& products, int groups) {
  const double G = groups;
  std::vector<double> rows(static_cast<std::size_t>(groups));
  double all = 0.0;
  for (int g = 0; g < groups; ++g) {
    for (int h = 0; h < groups; ++h) rows[g] += products[g * groups + h] / G;
    all += rows[g] / G;
  }
  double squares = 0.0;
  for (int g = 0; g < groups; ++g) {
    for (int h = 0; h < g; ++h) {
      const double centred = products[g * groups + h] - rows[g] - rows[h] + all;
      squares += centred * centred / (0.5 * G * (G - 1.0));
    }
  }
  return std::sqrt(2.0 * squares / (G * (G - 1.0)));
}

}  // namespace broadloom
