#include "broadloom/config/shapes.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

std::vector<std::string> texts(const ShapeRules& rules) {
  const Result<std::vector<BlockShape>> shapes = make_shapes(rules);
  EXPECT_TRUE(shapes.ok()) << shapes.status().message();
  std::vector<std::string> out;
  for (const BlockShape& shape : shapes.value()) out.push_back(shape_text(shape));
  return out;
}

std::string error(const ShapeRules& rules) {
  const Result<std::vector<BlockShape>> shapes = make_shapes(rules);
  EXPECT_EQ(shapes.status().kind(), ErrorKind::kInvalidConfig);
  return shapes.status().message();
}

using Texts = std::vector<std::string>;

TEST(Shapes, TheLadderHoldsEveryPowerOfTwo) {
  ShapeRules rules;
  rules.batch = 1024;
  rules.ladder = true;
  EXPECT_EQ(texts(rules), (Texts{"1x1024", "2x512", "4x256", "8x128", "16x64", "32x32", "64x16",
                                 "128x8", "256x4", "512x2", "1024x1"}));
  rules.batch = 1;
  EXPECT_EQ(texts(rules), (Texts{"1x1"}));
}

TEST(Shapes, DoubledSetsNAgainstT) {
  ShapeRules rules;
  rules.doubled = {{8, 128}};
  EXPECT_EQ(texts(rules), (Texts{"8x128", "16x128", "8x256"}));
  rules.doublings = 2;
  EXPECT_EQ(texts(rules), (Texts{"8x128", "16x128", "8x256", "32x128", "8x512"}));
}

TEST(Shapes, EnvironmentCountsGrowAtFixedT) {
  ShapeRules rules;
  rules.max_envs = 20;
  rules.num_steps = 128;
  EXPECT_EQ(texts(rules), (Texts{"1x128", "2x128", "4x128", "8x128", "16x128"}));
}

TEST(Shapes, RulesAddUpAndNothingStandsTwice) {
  ShapeRules rules;
  rules.list = {{128, 8}, {8, 128}};
  rules.doubled = {{8, 128}};
  EXPECT_EQ(texts(rules), (Texts{"128x8", "8x128", "16x128", "8x256"}));
  EXPECT_TRUE(texts({}).empty());
  rules.list = {{128, 8}, {8, 128}, {128, 8}};
  EXPECT_EQ(error(rules), "shapes: got 128x8 twice; remove one of them");
  rules = {};
  rules.doubled = {{8, 8}, {8, 8}};
  EXPECT_EQ(error(rules), "shapes: got 8x8 twice; remove one of them");
}

TEST(Shapes, WithAnotherBatchAreRefused) {
  ShapeRules rules;
  rules.batch = 1024;
  EXPECT_NE(error(rules).find("batch 1024"), std::string::npos);
  rules.list = {{8, 128}, {8, 127}};
  EXPECT_EQ(error(rules),
            "shapes: 8x127 makes a batch of 1016, but batch is 1024; every listed shape must have "
            "N * T = batch (leave batch out to mix them)");
  rules.list.clear();
  rules.ladder = true;
  rules.batch = 1000;
  EXPECT_NE(error(rules).find("batch is 1000; expected a power of two"), std::string::npos);
  rules.batch = 0;
  EXPECT_NE(error(rules).find("none was given"), std::string::npos);
}

TEST(Shapes, RulesThatLackAPartAreRefused) {
  ShapeRules rules;
  rules.max_envs = 8;
  EXPECT_NE(error(rules).find("num_steps 0"), std::string::npos);
  rules = {};
  rules.doubled = {{1 << 20, 1}};
  EXPECT_NE(error(rules).find("got 2097152x1"), std::string::npos);
  rules.doubled = {{8, 128}};
  rules.doublings = 0;
  EXPECT_NE(error(rules).find("doublings is 0"), std::string::npos);
}

TEST(Shapes, TextIsReadBack) {
  const Result<BlockShape> shape = parse_shape("8x128", "--shapes");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape_text(shape.value()), "8x128");
  for (const char* text :
       {"", "8", "x8", "8x", "0x8", "8x-1", "8x8x8", "8*8", " 8x8", "99999999999x1"}) {
    EXPECT_EQ(
        parse_shape(text, "--shapes").status().message(),
        "--shapes: got '" + std::string(text) + "'; expected num_envs x num_steps, as in 16x64");
  }
}

}  // namespace
}  // namespace broadloom
