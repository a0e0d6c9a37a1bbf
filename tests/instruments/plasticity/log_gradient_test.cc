#include "broadloom/instruments/plasticity/log_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Two sizes, equally often: every entry is one deviation off, so the kurtosis is 1.
TEST(LogGradient, OfTwoSizesIsOne) {
  EXPECT_NEAR(log_gradient(std::vector<float>{1.0f, -10.0f, 10.0f, -1.0f}).kurtosis, 1.0, 1e-9);
}

// One entry in n off the others: kurtosis n - 2 + 1 / (n - 1).
TEST(LogGradient, OfASingleOutlierIsKnown) {
  std::vector<float> gradient(10, 1.0f);
  gradient[3] = -50.0f;
  EXPECT_NEAR(log_gradient(gradient).kurtosis, 8.0 + 1.0 / 9.0, 1e-9);
}

TEST(LogGradient, OfALogNormalIsThree) {
  Random random(1, Purpose::kUser, 0, 0);
  std::vector<float> gradient(200000);
  for (float& g : gradient) {
    const double size = std::exp(random.normal());
    g = static_cast<float>(random.uniform() < 0.5 ? size : -size);
  }
  EXPECT_NEAR(log_gradient(gradient).kurtosis, 3.0, 0.05);  // its deviation is sqrt(24 / n) = 0.011
}

TEST(LogGradient, ScaleAndOrderChangeNothing) {
  Random random(2, Purpose::kUser, 0, 0);
  std::vector<float> gradient(1000);
  for (float& g : gradient) g = static_cast<float>(std::exp(3.0 * random.uniform()));
  std::vector<float> other(gradient.rbegin(), gradient.rend());
  for (float& g : other) g *= -1024.0f;
  EXPECT_NEAR(log_gradient(gradient).kurtosis, log_gradient(other).kurtosis, 1e-6);
}

TEST(LogGradient, CountsZeros) {
  const LogGradient seen = log_gradient(std::vector<float>{0.0f, 1.0f, -0.0f, 1.0f, 1.0f});
  EXPECT_DOUBLE_EQ(seen.zeros, 40.0);
  EXPECT_GT(seen.kurtosis, 1.0);
  EXPECT_LT(seen.kurtosis, 2.0);  // at log 1e-8 and 0, 2 to 3: 1 + (1/5)^2 / (6/25) = 7 / 6
  EXPECT_NEAR(seen.kurtosis, 7.0 / 6.0, 1e-9);
}

TEST(LogGradient, OfOneSizeIsNotANumber) {
  EXPECT_TRUE(std::isnan(log_gradient(std::vector<float>(7, 0.3f)).kurtosis));
  EXPECT_TRUE(std::isnan(log_gradient(std::vector<float>(7, 0.0f)).kurtosis));
  EXPECT_EQ(log_gradient(std::vector<float>(7, 0.0f)).zeros, 100.0);
}

}  // namespace
}  // namespace broadloom
