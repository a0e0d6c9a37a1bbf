#include "broadloom/instruments/gradient/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>

namespace broadloom {
namespace {

// |G|^2 = 9 and Tr Cov(g) = 12: E |G_B|^2 = 9 + 12 / B.
TEST(NoiseScale, TwoBatchSizesGiveBothUnknowns) {
  const NoiseScale found = noise_scale(9.0 + 12.0 / 3.0, 3.0, 9.0 + 12.0 / 12.0, 12.0);
  EXPECT_DOUBLE_EQ(found.squared_norm, 9.0);
  EXPECT_DOUBLE_EQ(found.sample_variance, 12.0);
  EXPECT_DOUBLE_EQ(found.samples(), 12.0 / 9.0);
}

TEST(NoiseScale, IsZeroWhereAllSamplesAgree) {
  const NoiseScale found = noise_scale(4.0, 10.0, 4.0, 50.0);
  EXPECT_DOUBLE_EQ(found.squared_norm, 4.0);
  EXPECT_DOUBLE_EQ(found.sample_variance, 0.0);
  EXPECT_DOUBLE_EQ(found.samples(), 0.0);
}

TEST(NoiseScale, EstimatesOfTheWrongSignGiveNoScale) {
  const NoiseScale no_signal = noise_scale(10.0, 1.0, 1.0, 2.0);
  EXPECT_DOUBLE_EQ(no_signal.squared_norm, -8.0);
  EXPECT_TRUE(std::isnan(no_signal.samples()));
  const NoiseScale no_noise = noise_scale(1.0, 1.0, 2.0, 2.0);
  EXPECT_DOUBLE_EQ(no_noise.sample_variance, -2.0);
  EXPECT_TRUE(std::isnan(no_noise.samples()));
}

TEST(NoiseScale, OneSizeSaysNothing) {
  const NoiseScale found = noise_scale(2.0, 7.0, 2.0, 7.0);
  EXPECT_TRUE(std::isnan(found.squared_norm));
  EXPECT_TRUE(std::isnan(found.sample_variance));
  EXPECT_TRUE(std::isnan(found.samples()));
}

}  // namespace
}  // namespace broadloom
