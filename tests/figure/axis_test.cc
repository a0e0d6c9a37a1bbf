#include "research/figure/axis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace broadloom {
namespace {

using Texts = std::vector<std::string>;

AxisRange range(double low, double high) { return {low, high, false}; }

Axis axis(FigureScale scale, double low, double high, int count, bool round = false) {
  FigureAxis description;
  description.scale = scale;
  return {description, range(low, high), count, round};
}

TEST(Axis, NumbersOfOneAxisAreWrittenAlike) {
  EXPECT_EQ(axis(FigureScale::kLinear, 0.0, 1.0, 4, true).texts(), (Texts{"0", "0.5", "1.0"}));
  EXPECT_EQ(axis(FigureScale::kLinear, -0.04, 0.05, 4, true).texts(),
            (Texts{"-0.05", "0", "0.05"}));
  EXPECT_EQ(axis(FigureScale::kLinear, -1259.0, -195.0, 3, true).texts(),
            (Texts{"-1,500", "-1,000", "-500", "0"}));
  EXPECT_EQ(axis(FigureScale::kLinear, 0.0, 499712.0, 5).texts(),
            (Texts{"0", "100k", "200k", "300k", "400k", "500k"}));
  EXPECT_EQ(axis(FigureScale::kLinear, 0.0, 2.5e6, 5).texts(),
            (Texts{"0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"}));
  EXPECT_EQ(axis(FigureScale::kLinear, 12500.0, 14000.0, 3).texts(),
            (Texts{"12.5k", "13.0k", "13.5k", "14.0k"}));
}

TEST(Axis, RoundEndsHoldAllValuesAndOthersDoNotWiden) {
  Axis y = axis(FigureScale::kLinear, -341.0, -152.0, 4, true);
  y.set_pixels(200.0, 0.0, 0.0);
  EXPECT_EQ(y.texts().front(), "-350");
  EXPECT_EQ(y.texts().back(), "-150");
  EXPECT_DOUBLE_EQ(y.at(-350.0), 200.0);
  EXPECT_DOUBLE_EQ(y.at(-150.0), 0.0);
  Axis x = axis(FigureScale::kLinear, 3.0, 17.0, 4);
  x.set_pixels(100.0, 200.0, 7.0);
  EXPECT_DOUBLE_EQ(x.at(3.0), 107.0);
  EXPECT_DOUBLE_EQ(x.at(17.0), 193.0);
}

TEST(Axis, PowersStandAtEqualDistances) {
  Axis x = axis(FigureScale::kLog2, 1.0, 1024.0, 6);
  x.set_pixels(0.0, 100.0, 0.0);
  EXPECT_EQ(x.texts(), (Texts{"1", "4", "16", "64", "256", "1,024"}));
  EXPECT_NEAR(x.at(32.0), 50.0, 1e-9);
  EXPECT_EQ(axis(FigureScale::kLog10, 240.0, 250000.0, 5).texts(), (Texts{"1,000", "10k", "100k"}));
  EXPECT_EQ(axis(FigureScale::kLog10, 1.25e-4, 2e-3, 6).texts(),
            (Texts{"2e-4", "5e-4", "1e-3", "2e-3"}));
}

TEST(Axis, ASingleValueStandsInTheMiddle) {
  for (const FigureScale scale : {FigureScale::kLinear, FigureScale::kLog2}) {
    Axis x = axis(scale, 8.0, 8.0, 4);
    x.set_pixels(0.0, 100.0, 0.0);
    EXPECT_NEAR(x.at(8.0), 50.0, 1e-9);
  }
}

TEST(Axis, CategoriesHaveSlotsOfTheirOwn) {
  FigureAxis description;
  description.scale = FigureScale::kCategories;
  description.categories = {"8x128", "128x8"};
  Axis x(description, {}, 1, false);
  x.set_pixels(10.0, 110.0, 7.0);
  EXPECT_DOUBLE_EQ(x.at(0.0), 35.0);
  EXPECT_DOUBLE_EQ(x.at(1.0), 85.0);
  EXPECT_DOUBLE_EQ(x.slot(), 50.0);
  EXPECT_EQ(x.ticks()[1].text, "128x8");
}

TEST(Axis, WhatIsToBeIncludedWidensIt) {
  FigureAxis description;
  description.include = {0.0};
  Axis y(description, range(3.0, 4.0), 4, true);
  EXPECT_EQ(y.texts().front(), "0");
}

}  // namespace
}  // namespace broadloom
