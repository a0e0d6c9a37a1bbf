#include "research/report/learning_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

Result<std::string> drawn(const std::string& title, const std::vector<Curve>& seeds) {
  return learning_curve_svg(title, {{"", seeds}});
}

TEST(LearningCurve, DrawsOneRunOrSeveralAndEscapesTheTitle) {
  const Curve rising{{100, 200, 300}, {1, 2, 3}};
  const Curve flat{{100, 250, 400}, {2, 2, 2}};
  const std::string one = drawn("a < b & c", {rising}).take();
  EXPECT_NE(one.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(drawn("a]]>b", {rising}).value().find("a]]&gt;b"), std::string::npos);
  EXPECT_NE(one.find("1 run"), std::string::npos);
  EXPECT_EQ(one.find("nan"), std::string::npos);
  const std::string two = drawn("t", {rising, flat}).take();
  EXPECT_NE(two.find("2 runs"), std::string::npos);
  EXPECT_NE(one, two);
  EXPECT_FALSE(learning_curve_svg("t", {}).ok());
}

TEST(LearningCurve, RunsThatShareNoStepsAreRefused) {
  const Curve early{{100, 200}, {1, 2}}, late{{300, 400}, {1, 2}}, touching{{200, 300}, {1, 2}};
  EXPECT_EQ(drawn("t", {early, late}).status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(drawn("t", {early, touching}).status().kind(), ErrorKind::kMismatch);
  EXPECT_TRUE(drawn("t", {late, Curve{{250, 350}, {1, 2}}}).ok());
}

// The height of a grid line, from the top.
double grid_line(const std::string& svg, std::size_t begin) {
  return std::stod(svg.substr(svg.find("y1='", begin) + 4, 6));
}

// The heights of a band's points, from the top.
std::vector<double> band_heights(const std::string& svg) {
  const std::size_t begin = svg.find("<path class='band' d='M") + 23;
  std::istringstream points(svg.substr(begin, svg.find('Z', begin) - begin));
  std::vector<double> heights;
  for (std::string point; std::getline(points, point, 'L');) {
    heights.push_back(std::stod(point.substr(point.find(',') + 1)));
  }
  return heights;
}

// Two runs far apart with one mean: the whole band lies between the first and last grid line.
TEST(LearningCurve, TheAxisCoversTheIntervalAndNotOnlyTheMean) {
  const Curve low{{100, 200}, {-300, -290}}, high{{100, 200}, {310, 300}};
  const std::string svg = drawn("t", {low, high}).take();
  const std::vector<double> heights = band_heights(svg);
  const double lowest = *std::max_element(heights.begin(), heights.end());
  const double highest = *std::min_element(heights.begin(), heights.end());
  EXPECT_GE(highest, grid_line(svg, svg.rfind("class='grid'")));
  EXPECT_LE(lowest, grid_line(svg, svg.find("class='grid'")));
  EXPECT_GT(lowest - highest, 150.0);  // there is a band, and it is wide
}

TEST(LearningCurve, NoBandLeavesTheReturnsThatWereSeen) {
  std::vector<Curve> seeds;
  for (int seed = 0; seed < 6; ++seed) {
    // Most runs end at the least return there is, one does not.
    seeds.push_back({{100, 200, 300}, {-500.0, -500.0, seed == 0 ? -80.0 : -500.0}});
    const std::string svg = drawn("t", seeds).take();
    EXPECT_EQ(svg.find(">-600<"), std::string::npos) << svg;
    const std::vector<double> heights = band_heights(svg);
    const double bottom = grid_line(svg, svg.find("class='grid'"));
    EXPECT_LE(*std::max_element(heights.begin(), heights.end()), bottom + 0.1);
    if (seed == 1) {  // two runs: the band reaches from the one to the other
      const auto [high, low] = std::minmax_element(heights.begin(), heights.end());
      EXPECT_GT(*low - *high, 150.0);
    }
  }
}

TEST(LearningCurve, EachSettingIsALineWithItsName) {
  const Curve rising{{100, 200, 300}, {1, 2, 3}}, flat{{100, 200}, {2, 2}};
  const std::string svg =
      learning_curve_svg("t", {{"gamma=0.9", {rising, rising}}, {"gamma=<1>", {flat}}}).take();
  EXPECT_NE(svg.find(">gamma=0.9, 2 runs<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">gamma=&lt;1&gt;, 1 run<"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<g class='c0'>"), std::string::npos);
  EXPECT_NE(svg.find("<g class='c1'>"), std::string::npos);
  EXPECT_EQ(svg.find("<g class='c2'>"), std::string::npos);
  EXPECT_FALSE(learning_curve_svg("t", std::vector<SeedCurves>(13, {"x", {flat}})).ok());
}

}  // namespace
}  // namespace broadloom
