// Elementary functions of one double, for host and device. They have the bits of functions-inl.h's
// vectors of doubles wherever those fuse (math/fused-inl.h); tests compare them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"

namespace broadloom::wide {

// a * b + c, rounded once.
BROADLOOM_HD inline double mul_add(double a, double b, double c) { return std::fma(a, b, c); }

BROADLOOM_HD inline std::int64_t bits_of(double x) {
  std::int64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
BROADLOOM_HD inline double of_bits(std::int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

// c[0] + c[1] x + ... + c[n - 1] x^(n - 1), by Horner's rule.
template <int n>
BROADLOOM_HD double polynomial(double x, const double (&c)[n]) {
  double sum = c[n - 1];
  for (int i = n - 1; i > 0; --i) sum = mul_add(sum, x, c[i - 1]);
  return sum;
}

// e^x = 2^n (1 + rest), for x between -746 and 709.782, not NaN.
struct SplitExp {
  std::int64_t n;
  double rest;

  BROADLOOM_HD explicit SplitExp(double x) {
    constexpr double kMagic = 0x1.8p52;
    constexpr double kSeries[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                  1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                  1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    const double whole = mul_add(x, 1.44269504088896340736, kMagic) - kMagic;
    n = static_cast<std::int64_t>(whole);
    double r = mul_add(-whole, portable::kLn2High, x);
    r = mul_add(-whole, portable::kLn2Low, r);
    rest = mul_add(r * r, polynomial(r, kSeries), r);
  }
};

BROADLOOM_HD inline double exp(double x) {
  constexpr double kLargest = 709.782;
  if (x != x) return x;
  if (x > kLargest) return portable::kInfinity;
  const SplitExp split(x < -746.0 ? -746.0 : x);
  const std::int64_t half = split.n >> 1;
  return ((split.rest + 1.0) * portable::power_of_two(half)) *
         portable::power_of_two(split.n - half);
}

BROADLOOM_HD inline double tanh(double x) {
  if (x != x) return x;
  const double twice = -2.0 * std::fabs(x);
  const SplitExp split(twice > -40.0 ? twice : -40.0);
  const double power = portable::power_of_two(split.n);
  const double m = mul_add(power, split.rest, power - 1.0);
  return std::copysign(-m / (2.0 + m), x);
}

// ln x for finite normal x > 0; NaN stays NaN.
BROADLOOM_HD inline double log(double x) {
  constexpr double kSeries[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                2.857142874366239149e-01, 2.222219843214978396e-01,
                                1.818357216161805012e-01, 1.531383769920937332e-01,
                                1.479819860511658591e-01};
  if (x != x) return x;
  const std::int64_t exponent = (bits_of(x) - 0x3fe6a09e667f3bcd) >> 52;
  const double f = of_bits(bits_of(x) - exponent * (std::int64_t{1} << 52)) - 1.0;
  const double e = static_cast<double>(exponent);
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half = 0.5 * (f * f);
  const double series = mul_add(z, polynomial(z, kSeries), half);
  const double tail = half - mul_add(s, series, e * portable::kLn2Low);
  return mul_add(e, portable::kLn2High, f - tail);
}

}  // namespace broadloom::wide
