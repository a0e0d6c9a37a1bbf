#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "research/figure/figure.h"
#include "research/figure/svg.h"

namespace broadloom {
namespace {

// All numbers after a piece of text.
std::vector<double> numbers_after(const std::string& svg, const std::string& piece) {
  std::vector<double> out;
  for (std::size_t at = svg.find(piece); at != std::string::npos; at = svg.find(piece, at + 1)) {
    out.push_back(std::strtod(svg.c_str() + at + piece.size(), nullptr));
  }
  return out;
}

std::size_t count(const std::string& svg, const std::string& piece) {
  return numbers_after(svg, piece).size();
}

FigureSeries series(const std::string& name, const std::vector<double>& ys) {
  FigureSeries out;
  out.name = name;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    out.points.push_back({static_cast<double>(i), {ys[i], ys[i] - 1.0, ys[i] + 2.0}});
  }
  return out;
}

Figure figure_of(std::vector<FigureSeries> all) {
  Figure figure;
  figure.title = "a < b & c";
  FigurePanel panel;
  panel.x.title = "steps";
  panel.y.title = "return";
  panel.series = std::move(all);
  figure.panels.push_back(panel);
  EXPECT_TRUE(set_styles(figure).ok());
  return figure;
}

TEST(FigureSvg, EscapesTextAndHasAStyleForDarkPages) {
  const std::string svg = figure_svg(figure_of({series("a<b", {1, 2}), series("c", {2, 3})}));
  EXPECT_NE(svg.find("<title>a &lt; b &amp; c</title>"), std::string::npos);
  EXPECT_NE(svg.find(">a&lt;b</text>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(FigureSvg, PointsAtCategoriesStandBesideEachOther) {
  Figure figure = figure_of({series("a", {1, 2}), series("b", {1, 2}), series("c", {1, 2})});
  figure.panels[0].kind = FigureKind::kPoints;
  const auto places = [&] {
    std::set<double> all;
    for (const char* bar : {"bar s0' x1='", "bar s1' x1='", "bar s2' x1='"}) {
      for (const double x : numbers_after(figure_svg(figure), bar)) all.insert(x);
    }
    return all.size();
  };
  const std::size_t of_numbers = places();
  figure.panels[0].x.scale = FigureScale::kCategories;
  figure.panels[0].x.categories = {"first", "second"};
  EXPECT_EQ(of_numbers, 2U);
  EXPECT_EQ(places(), 6U);
}

TEST(FigureSvg, TheSameFigureIsTheSameBytes) {
  EXPECT_EQ(figure_svg(figure_of({series("a", {1, 2, 7})})),
            figure_svg(figure_of({series("a", {1, 2, 7})})));
  EXPECT_NE(figure_svg(figure_of({series("a", {1, 2, 7})})),
            figure_svg(figure_of({series("a", {1, 2, 8})})));
}

// Two lines that end at one place: their names must not stand on each other.
TEST(FigureSvg, LinesAreNamedAtTheirEndsApart) {
  const std::string svg = figure_svg(
      figure_of({series("one", {0, 5}), series("two", {9, 5}), series("three", {4, 5})}));
  std::vector<double> heights;
  for (const char* name : {">one<", ">two<", ">three<"}) {
    const std::size_t end = svg.find(name);
    ASSERT_NE(end, std::string::npos) << name;
    heights.push_back(std::strtod(svg.c_str() + svg.rfind("y='", end) + 3, nullptr));
  }
  std::sort(heights.begin(), heights.end());
  EXPECT_GE(heights[1] - heights[0], 12.0);
  EXPECT_GE(heights[2] - heights[1], 12.0);
}

TEST(FigureSvg, AloneALineNeedsNoName) {
  EXPECT_EQ(figure_svg(figure_of({series("alone", {0, 5})})).find(">alone<"), std::string::npos);
}

// Marks and bars, those at the very ends too, lie inside the frame, whose base is the one line of
// it that goes across.
TEST(FigureSvg, NothingIsCutByTheFrame) {
  const std::string svg =
      figure_svg(figure_of({series("a", {-3.7, 0, 11.3}), series("b", {1, 1, 1})}));
  const std::size_t base = svg.rfind("<line class='frame'");
  const double left = std::strtod(svg.c_str() + svg.find("x1='", base) + 4, nullptr);
  const double right = std::strtod(svg.c_str() + svg.find("x2='", base) + 4, nullptr);
  const double bottom = std::strtod(svg.c_str() + svg.find("y1='", base) + 4, nullptr);
  const std::vector<double> xs = numbers_after(svg, "<circle class='mark f0' cx='");
  ASSERT_EQ(xs.size(), 4U);  // the last one stands before the name
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(xs[i] - 3.0, left);
    EXPECT_LT(xs[i] + 3.0, right);
  }
  const std::vector<double> bars = numbers_after(svg, "<line class='bar s0' x1='");
  EXPECT_EQ(bars.size(), 3U);
  for (std::size_t at = svg.find("class='bar"); at != std::string::npos;
       at = svg.find("class='bar", at + 1)) {
    EXPECT_LE(std::strtod(svg.c_str() + svg.find("y1='", at) + 4, nullptr), bottom);
  }
}

TEST(FigureSvg, EveryStyleHasAMarkOfItsOwnShape) {
  std::set<std::string> shapes;
  for (std::size_t i = 0; i < kFigureStyles; ++i) {
    std::string mark = svg::mark(i, 0.0, 0.0);
    const std::string name = std::to_string(i);
    const std::size_t at = mark.find("mark ");
    shapes.insert(mark.erase(at, 7));  // without its colour
  }
  EXPECT_EQ(shapes.size(), kFigureStyles);
}

TEST(FigureSvg, MoreNamesThanStylesAreRefused) {
  Figure figure;
  figure.panels.emplace_back();
  for (std::size_t i = 0; i <= kFigureStyles; ++i) {
    figure.panels[0].series.push_back(series("s" + std::to_string(i), {1}));
  }
  const Status status = set_styles(figure);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("got 9 names of series"), std::string::npos);
}

TEST(FigureSvg, ASeriesLooksTheSameInAllPanels) {
  Figure figure;
  figure.panels.resize(2);
  figure.panels[0].series = {series("a", {1, 2}), series("b", {2, 3})};
  figure.panels[1].series = {series("b", {2, 3})};
  ASSERT_TRUE(set_styles(figure).ok());
  EXPECT_EQ(figure.panels[1].series[0].style, figure.panels[0].series[1].style);
}

TEST(FigureSvg, PanelsWrap) {
  Figure figure;
  figure.columns = 2;
  figure.panels.resize(3);
  for (FigurePanel& panel : figure.panels) panel.series = {series("a", {1, 2})};
  const std::string wide = figure_svg(figure);
  figure.columns = 3;
  const double two_rows = numbers_after(wide, " height='")[0];
  const double one_row = numbers_after(figure_svg(figure), " height='")[0];
  EXPECT_NEAR(two_rows - one_row, figure.panel_height + 16.0, 1.0);
}

TEST(FigureSvg, CellsSayTheirNumbersAndWhichIsBest) {
  Figure figure;
  FigurePanel panel;
  panel.kind = FigureKind::kHeat;
  panel.digits = 1;
  panel.x.scale = panel.y.scale = FigureScale::kCategories;
  panel.x.categories = {"8 x 128", "16 x 128"};
  panel.y.categories = {"1e-3"};
  panel.cells = {{0, 0, {2.0, 1.0, 3.04}, true, false}, {1, 0, {-0.01, -0.01, -0.01}, false, true}};
  figure.panels.push_back(panel);
  const std::string svg = figure_svg(figure);
  EXPECT_NE(svg.find(">2.0</text>"), std::string::npos);
  EXPECT_NE(svg.find(">[1.0, 3.0]</text>"), std::string::npos);
  EXPECT_NE(svg.find(">0.0</text>"), std::string::npos) << "no minus before a zero";
  EXPECT_EQ(count(svg, "<rect class='best edge-on-light'"), 1U);
  EXPECT_EQ(count(svg, "<rect class='level edge-on-dark'"), 1U);
}

TEST(FigureSvg, LettersAreReadOnEveryColour) {
  EXPECT_FALSE(svg::heat_colour(0.0).dark_letters);
  EXPECT_TRUE(svg::heat_colour(1.0).dark_letters);
  EXPECT_EQ(svg::heat_colour(-1.0).fill, svg::heat_colour(0.0).fill);
}

TEST(FigureSvg, LongTextIsBrokenAtBlanks) {
  const std::vector<std::string> lines = svg::wrapped("one two three four", 10.0, 60.0);
  ASSERT_GT(lines.size(), 1U);
  std::string joined;
  for (const std::string& line : lines) joined += (joined.empty() ? "" : " ") + line;
  EXPECT_EQ(joined, "one two three four");
}

}  // namespace
}  // namespace broadloom
