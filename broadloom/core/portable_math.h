// Functions of libm with the same bits on every processor and with every C library. A libm picks
// variants by processor, which differ in the last place. These functions use only additions,
// multiplications, divisions and square roots, which IEEE 754 rounds correctly. None is fused.
//
// In double. The error is at most 1.5 units in the last place, unless a function says otherwise. A
// call takes some 10 ns. NaN stays NaN. sin_cos() is in branch_free.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/host_device.h"

namespace broadloom::portable {

// Constants of their own: device code may use constants, but not numeric_limits' functions.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastNormal = std::numeric_limits<double>::min();
constexpr double kLn2High = 6.93147180369123816490e-01;  // 21 bits of zeros below
constexpr double kLn2Low = 1.90821492927058770002e-10;

// 2^n for n in [-1022, 1023].
BROADLOOM_HD inline double power_of_two(std::int64_t n) {
  const std::uint64_t bits = static_cast<std::uint64_t>(n + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof(power));
  return power;
}

// e^x. A multiple of ln 2 brings x to [-ln 2 / 2, ln 2 / 2]. The rational function there is that of
// fdlibm's e_exp.c (Sun Microsystems 1993). Infinity above 709.78, 0 below -745.13.
BROADLOOM_HD inline double exp(double x) {
  if (!(x > -745.2)) return x <= -745.2 ? 0.0 : x;
  if (x > 709.79) return kInfinity;
  const double n = nearest(x * 1.44269504088896338700);
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  const double z = r * r;
  const double c =
      r - z * (1.66666666666666019037e-01 +
               z * (-2.77777777770155933842e-03 +
                    z * (6.61375632143793436117e-05 +
                         z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))));
  const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  const std::int64_t k = static_cast<std::int64_t>(n);  // in two halves, because 2^1024 overflows
  return y * power_of_two(k / 2) * power_of_two(k - k / 2);
}

// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct SplitNumber {
  double exponent, fraction;
};
BROADLOOM_HD inline SplitNumber split(double x) {
  double exponent = 0.0;
  if (x < kLeastNormal) {
    x *= 0x1p54;
    exponent = -54.0;
  }
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdull;
  const std::int64_t above = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  exponent += static_cast<double>(above);
  bits -= static_cast<std::uint64_t>(above) << 52;
  std::memcpy(&x, &bits, sizeof(x));
  return {exponent, x - 1.0};
}

// log(1 + f) = f - log_tail(f) for 1 + f in [sqrt(1/2), sqrt(2)). Uses the series in f / (2 + f) of
// fdlibm's e_log.c (Sun Microsystems 1993).
BROADLOOM_HD inline double log_tail(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double series =
      z * (6.666666666666735130e-01 +
           z * (3.999999999940941908e-01 +
                z * (2.857142874366239149e-01 +
                     z * (2.222219843214978396e-01 +
                          z * (1.818357216161805012e-01 +
                               z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01))))));
  const double half = 0.5 * f * f;
  return half - s * (half + series);
}

// The natural logarithm: minus infinity at 0, NaN below.
BROADLOOM_HD inline double log(double x) {
  if (!(x > 0.0)) {
    if (x == 0.0) return -kInfinity;
    return kNotANumber;
  }
  if (x == kInfinity) return x;
  const SplitNumber s = split(x);
  return s.exponent * kLn2High + (s.fraction - (log_tail(s.fraction) - s.exponent * kLn2Low));
}

// The logarithm to base 2, exact for powers of two; within 3 units in the last place.
BROADLOOM_HD inline double log2(double x) {
  if (!(x > 0.0) || x == kInfinity) return log(x);
  const SplitNumber s = split(x);
  return s.exponent + (s.fraction - log_tail(s.fraction)) * 1.44269504088896338700;
}

// e^x - 1, accurate near 0 by Kahan's quotient; within 4 units in the last place.
BROADLOOM_HD inline double expm1(double x) {
  const double power = exp(x);
  const double change = power - 1.0;
  if (change == 0.0) return x;
  if (change == -1.0 || !(x < 700.0)) return change;
  return change * x / log(power);
}

// base^n for n >= 0, by squaring: error below n * 1.2e-16 of the result.
BROADLOOM_HD inline double power(double base, std::int64_t n) {
  double result = 1.0;
  for (; n > 0; n >>= 1, base *= base) {
    if ((n & 1) != 0) result *= base;
  }
  return result;
}

// sqrt(x^2 + y^2) without intermediate overflow; within 3 units in the last place.
BROADLOOM_HD inline double hypot(double x, double y) {
  const double large = std::abs(x) > std::abs(y) ? std::abs(x) : std::abs(y);
  const double small = std::abs(x) > std::abs(y) ? std::abs(y) : std::abs(x);
  if (large == 0.0) return small;  // 0, or NaN
  const double ratio = small / large;
  return large * std::sqrt(1.0 + ratio * ratio);
}

}  // namespace broadloom::portable
