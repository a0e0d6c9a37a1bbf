#include "broadloom/report/learning_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

TEST(LearningCurve, DrawsOneRunOrSeveralAndEscapesTheTitle) {
  const Curve rising{{100, 200, 300}, {1, 2, 3}};
  const Curve flat{{100, 250, 400}, {2, 2, 2}};
  const std::string one = learning_curve_svg("a < b & c", {rising}).take();
  EXPECT_NE(one.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(one.find("1 run"), std::string::npos);
  EXPECT_EQ(one.find("nan"), std::string::npos);
  const std::string two = learning_curve_svg("t", {rising, flat}).take();
  EXPECT_NE(two.find("2 runs"), std::string::npos);
  EXPECT_NE(one, two);
  EXPECT_FALSE(learning_curve_svg("t", {}).ok());
}

}  // namespace
}  // namespace broadloom
