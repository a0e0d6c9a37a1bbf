#include "broadloom/rollout/explained_variance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace broadloom {
namespace {

TEST(ExplainedVariance, KnownCases) {
  const std::vector<float> values{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(explained_variance(std::vector<float>{0, 0, 0, 0}, values), 1.0);
  EXPECT_DOUBLE_EQ(explained_variance(std::vector<float>{7, 7, 7, 7}, values), 1.0);
  // A constant critic explains nothing.
  EXPECT_DOUBLE_EQ(explained_variance(std::vector<float>{1, 2, 3, 4}, std::vector<float>(4, 9.0f)),
                   0.0);
  // A critic with the wrong sign: targets x, values -x, errors 2x.
  EXPECT_DOUBLE_EQ(
      explained_variance(std::vector<float>{2, -2, 4, -4}, std::vector<float>{-1, 1, -2, 2}), -3.0);
  EXPECT_TRUE(std::isnan(explained_variance(std::vector<float>{0, 0}, std::vector<float>{5, 5})));
  // Without the row that is a filler.
  EXPECT_DOUBLE_EQ(
      explained_variance(std::vector<float>{2, -2, 99, 4, -4}, std::vector<float>{-1, 1, 50, -2, 2},
                         std::vector<std::uint8_t>{0, 0, 1, 0, 0}),
      -3.0);
}

}  // namespace
}  // namespace broadloom
