// libm's functions of our own, against those of the C library in extended precision.
#include "broadloom/core/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace broadloom {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ulps(double got, long double expected) {
  const double near = std::abs(static_cast<double>(expected));
  const double step = std::nextafter(near, kInfinity) - near;
  return static_cast<double>(std::abs(got - expected) / step);
}

TEST(PortableMath, ExponentialsAreAccurate) {
  double worst = 0.0, worst_less_one = 0.0;
  for (double x = -700.0; x < 700.0; x += 0.0317) {
    worst = std::max(worst, ulps(portable::exp(x), std::exp(static_cast<long double>(x))));
  }
  for (double x = 1e-12; x < 40.0; x *= 1.003) {
    for (const double y : {x, -x}) {
      worst = std::max(worst, ulps(portable::exp(y), std::exp(static_cast<long double>(y))));
      worst_less_one = std::max(worst_less_one,
                                ulps(portable::expm1(y), std::expm1(static_cast<long double>(y))));
    }
  }
  EXPECT_LE(worst, 1.5);
  EXPECT_LE(worst_less_one, 4.0);
  EXPECT_EQ(portable::exp(0.0), 1.0);
  EXPECT_EQ(portable::expm1(-0.0), 0.0);
  // The smallest numbers have few digits.
  EXPECT_NEAR(portable::exp(-744.0) / std::exp(-744.0), 1.0, 0.3);
}

TEST(PortableMath, LogarithmsAreAccurate) {
  double worst = 0.0, worst_of_two = 0.0;
  const auto check = [&](double x) {
    worst = std::max(worst, ulps(portable::log(x), std::log(static_cast<long double>(x))));
    worst_of_two =
        std::max(worst_of_two, ulps(portable::log2(x), std::log2(static_cast<long double>(x))));
  };
  for (double x = 1e-320; x < 1e300; x *= 1.31) check(x);
  for (double x = 0.5; x < 2.0; x += 1.37e-5) check(x);
  EXPECT_LE(worst, 1.5);
  EXPECT_LE(worst_of_two, 3.0);
  EXPECT_EQ(portable::log(1.0), 0.0);
  for (int k = -1074; k <= 1023; ++k) ASSERT_EQ(portable::log2(std::ldexp(1.0, k)), k);
}

TEST(PortableMath, EndsOfTheRangeAreThoseOfLibm) {
  EXPECT_EQ(portable::exp(kInfinity), kInfinity);
  EXPECT_EQ(portable::exp(-kInfinity), 0.0);
  EXPECT_EQ(portable::exp(710.0), kInfinity);
  EXPECT_EQ(portable::exp(-746.0), 0.0);
  EXPECT_EQ(portable::exp(709.78), std::exp(709.78));
  EXPECT_EQ(portable::expm1(kInfinity), kInfinity);
  EXPECT_EQ(portable::expm1(-kInfinity), -1.0);
  EXPECT_EQ(portable::log(0.0), -kInfinity);
  EXPECT_EQ(portable::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(portable::log(-1.0)));
  for (const auto f : {portable::exp, portable::expm1, portable::log, portable::log2}) {
    EXPECT_TRUE(std::isnan(f(std::nan(""))));
  }
}

TEST(PortableMath, PowersAndHypotenuses) {
  for (const std::int64_t n : {0, 1, 2, 7, 1000, 100000}) {
    const long double expected = std::pow(static_cast<long double>(0.999), n);
    EXPECT_NEAR(portable::power(0.999, n) / static_cast<double>(expected), 1.0,
                1e-15 + 1.2e-16 * static_cast<double>(n));
  }
  EXPECT_EQ(portable::power(3.0, 4), 81.0);
  EXPECT_EQ(portable::hypot(3.0, -4.0), 5.0);
  EXPECT_EQ(portable::hypot(0.0, 0.0), 0.0);
  EXPECT_TRUE(std::isnan(portable::hypot(std::nan(""), 0.0)));
  EXPECT_TRUE(std::isnan(portable::hypot(0.0, std::nan(""))));
  EXPECT_EQ(portable::hypot(0.0, -2.0), 2.0);
  EXPECT_LE(ulps(portable::hypot(1e300, 1e299), std::hypot(1e300L, 1e299L)), 3.0);
  EXPECT_LE(ulps(portable::hypot(1e-300, 3e-300), std::hypot(1e-300L, 3e-300L)), 3.0);
}

// Written down once, on a processor with fused multiply-add: what no other may change.
TEST(PortableMath, BitsAreTheSameEverywhere) {
  std::uint64_t sum = 0;
  const auto note = [&](double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    sum = (sum ^ bits) * 0x9e3779b97f4a7c15ull + (sum >> 29);
  };
  for (double x = -20.0; x < 20.0; x += 0.0137) {
    note(portable::exp(x));
    note(portable::expm1(x));
    note(portable::log(std::abs(x)));
    note(portable::log2(std::abs(x)));
    note(portable::hypot(x, 1.7));
    note(portable::power(x, 9));
    note(sin_cos(x).sine);
  }
  EXPECT_EQ(sum, 5386551061613220575ull);
}

}  // namespace
}  // namespace broadloom
