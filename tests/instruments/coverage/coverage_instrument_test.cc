#include "broadloom/instruments/coverage/coverage_instrument.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/instruments/instrument_scene.h"

namespace broadloom {
namespace {

NetworkShape shape_of(int observation_size) {
  NetworkShape shape;
  shape.observation_size = observation_size;
  shape.action_outputs = 2;
  shape.hidden_sizes = {4};
  return shape;
}

void visit_states(InstrumentScene& scene, const std::vector<int>& states) {
  std::fill(scene.block.observations.floats().begin(), scene.block.observations.floats().end(),
            0.0f);
  for (std::size_t i = 0; i < scene.block.size(); ++i) {
    scene.block.observations.floats()[i * scene.block.D + states[i % states.size()]] = 1.0f;
  }
}

TEST(Coverage, OfATableIsTheShareOfItsStates) {
  InstrumentScene scene(shape_of(8), SpaceKind::kDiscrete, 4, 2);
  CoverageInstrument instrument(scene.setup());
  visit_states(scene, {0, 1, 2});
  auto n = scene.measure(instrument);
  EXPECT_EQ(n.at("coverage/run"), 37.5);
  EXPECT_EQ(n.at("coverage/block"), 37.5);
  EXPECT_EQ(n.at("coverage/states"), 8.0);
  EXPECT_TRUE(std::isnan(n.at("coverage/sample")));  // 8 states are too few for it
  visit_states(scene, {2, 7});
  n = scene.measure(instrument);
  EXPECT_EQ(n.at("coverage/run"), 50.0);
  EXPECT_EQ(n.at("coverage/block"), 25.0);
  EXPECT_EQ(n.at("coverage/states"), 16.0);
}

TEST(Coverage, BlocksBetweenMeasuredOnesCount) {
  InstrumentScene scene(shape_of(8), SpaceKind::kDiscrete, 4, 2);
  CoverageInstrument instrument(scene.setup());
  visit_states(scene, {5});
  instrument.every_block(scene.view());
  visit_states(scene, {0});
  const auto n = scene.measure(instrument);
  EXPECT_EQ(n.at("coverage/run"), 25.0);
  EXPECT_EQ(n.at("coverage/block"), 12.5);
  EXPECT_EQ(n.at("coverage/states"), 16.0);
}

TEST(Coverage, StateIsAllThatGoesOn) {
  InstrumentScene scene(shape_of(8), SpaceKind::kDiscrete, 4, 2);
  CoverageInstrument whole(scene.setup()), resumed(scene.setup());
  visit_states(scene, {3, 4});
  whole.every_block(scene.view());
  std::vector<TensorRef> from, to;
  whole.append_state("instruments", from);
  resumed.append_state("instruments", to);
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name.rfind("instruments.coverage.", 0), 0u);
    std::memcpy(to[i].data, from[i].data, from[i].bytes());
  }
  visit_states(scene, {4, 6});
  const auto a = scene.measure(whole), b = scene.measure(resumed);
  for (const char* key : {"coverage/run", "coverage/block", "coverage/states"}) {
    EXPECT_EQ(a.at(key), b.at(key));
  }
  EXPECT_EQ(a.at("coverage/run"), 37.5);
}

// 512 points of the block whatever its size: one state a row, so the share is 512 of all.
TEST(Coverage, TheSampleHasTheSameNumberOfPointsInEveryBlock) {
  for (const int num_steps : {2, 3, 4, 12}) {
    InstrumentScene scene(shape_of(1024), SpaceKind::kDiscrete, num_steps, 256);
    CoverageInstrument instrument(scene.setup());
    std::vector<int> states(scene.block.size());
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<int>(i % 1024);
    visit_states(scene, states);
    const auto n = scene.measure(instrument);
    if (scene.block.size() <= 1024) {
      EXPECT_EQ(n.at("coverage/sample"), 50.0) << num_steps;
    } else {
      EXPECT_NEAR(n.at("coverage/sample"), 39.0, 3.0) << num_steps;  // some states come up twice
    }
  }
}

TEST(Coverage, TheSampleIsSpreadOverStepsAndEnvironments) {
  for (const bool over_steps : {false, true}) {
    InstrumentScene scene(shape_of(64), SpaceKind::kDiscrete, 64, 64);
    CoverageInstrument instrument(scene.setup());
    std::vector<int> states(scene.block.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i] = static_cast<int>(over_steps ? i / 64 : i % 64);
    }
    visit_states(scene, states);
    EXPECT_GT(scene.measure(instrument).at("coverage/sample"), 95.0) << over_steps;
  }
}

TEST(Coverage, OfBoxesIsTheShareOfGridCells) {
  InstrumentScene scene(shape_of(2), SpaceKind::kBox, 4, 2);
  CoverageInstrument instrument(scene.setup());
  std::fill(scene.block.observations.floats().begin(), scene.block.observations.floats().end(),
            0.0f);
  const double cell = 100.0 / (StateGrid::kSide * StateGrid::kSide);
  EXPECT_EQ(scene.measure(instrument).at("coverage/block"), cell);
  scene.block.observations.floats()[5] = 3.0f;
  scene.block.observations.floats()[8] = -3.0f;
  EXPECT_EQ(scene.measure(instrument).at("coverage/block"), 3 * cell);
}

}  // namespace
}  // namespace broadloom
