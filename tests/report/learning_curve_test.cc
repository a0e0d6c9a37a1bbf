#include "research/report/learning_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

TEST(LearningCurve, DrawsOneRunOrSeveralAndEscapesTheTitle) {
  const Curve rising{{100, 200, 300}, {1, 2, 3}};
  const Curve flat{{100, 250, 400}, {2, 2, 2}};
  const std::string one = learning_curve_svg("a < b & c", {rising}).take();
  EXPECT_NE(one.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(learning_curve_svg("a]]>b", {rising}).value().find("a]]&gt;b"), std::string::npos);
  EXPECT_NE(one.find("1 run"), std::string::npos);
  EXPECT_EQ(one.find("nan"), std::string::npos);
  const std::string two = learning_curve_svg("t", {rising, flat}).take();
  EXPECT_NE(two.find("2 runs"), std::string::npos);
  EXPECT_NE(one, two);
  EXPECT_FALSE(learning_curve_svg("t", {}).ok());
}

TEST(LearningCurve, RunsThatShareNoStepsAreRefused) {
  const Curve early{{100, 200}, {1, 2}}, late{{300, 400}, {1, 2}}, touching{{200, 300}, {1, 2}};
  EXPECT_EQ(learning_curve_svg("t", {early, late}).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(learning_curve_svg("t", {early, touching}).status().kind(), ErrorKind::kMismatch);
  EXPECT_TRUE(learning_curve_svg("t", {late, Curve{{250, 350}, {1, 2}}}).ok());
}

// The height of a grid line, from the top.
double grid_line(const std::string& svg, std::size_t begin) {
  return std::stod(svg.substr(svg.find("y1='", begin) + 4, 6));
}

// Two runs far apart with one mean: the whole band lies between the first and last grid line.
TEST(LearningCurve, TheAxisCoversTheIntervalAndNotOnlyTheMean) {
  const Curve low{{100, 200}, {-300, -290}}, high{{100, 200}, {310, 300}};
  const std::string svg = learning_curve_svg("t", {low, high}).take();
  const std::size_t begin = svg.find("<path class='band' d='M") + 23;
  std::istringstream points(svg.substr(begin, svg.find('Z', begin) - begin));
  double lowest = 0.0, highest = 400.0;
  for (std::string point; std::getline(points, point, 'L');) {
    const double y = std::stod(point.substr(point.find(',') + 1));
    lowest = std::max(lowest, y);
    highest = std::min(highest, y);
  }
  EXPECT_GE(highest, grid_line(svg, svg.rfind("class='grid'")));
  EXPECT_LE(lowest, grid_line(svg, svg.find("class='grid'")));
  EXPECT_GT(lowest - highest, 150.0);  // there is a band, and it is wide
}

// Student's t with one degree of freedom: 12.7 standard errors of 10, so the axis reaches 127.
TEST(LearningCurve, TheIntervalOfTwoRunsIsAsWideAsTwoRunsAllow) {
  const Curve low{{100, 200}, {-10, -10}}, high{{100, 200}, {10, 10}};
  const std::string svg = learning_curve_svg("t", {low, high}).take();
  EXPECT_NE(svg.find(">100<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">-100<"), std::string::npos) << svg;
}

}  // namespace
}  // namespace broadloom
