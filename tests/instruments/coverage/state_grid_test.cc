#include "broadloom/instruments/coverage/state_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr int kSide = StateGrid::kSide;

TEST(StateGrid, OfATableIsItsStates) {
  const StateGrid grid(SpaceKind::kDiscrete, 7, {});
  EXPECT_EQ(grid.cells(), 7);
  for (int s = 0; s < 7; ++s) {
    std::vector<float> row(7);
    row[s] = 1.0f;
    EXPECT_EQ(grid.cell(row.data()), s);
  }
}

TEST(StateGrid, KnowsNormalisedOneHotRows) {
  ObsNormalizer normalizer(4, 10.0, 1);
  std::vector<float> rows;  // state 0 nine times in ten
  for (int i = 0; i < 100; ++i) {
    for (int s = 0; s < 4; ++s) rows.push_back((i % 10 == 9 ? 1 + i % 3 : 0) == s ? 1.0f : 0.0f);
  }
  normalizer.accumulate(0, rows.data(), 100);
  normalizer.commit();
  StateGrid grid(SpaceKind::kDiscrete, 4, {});
  grid.look_through(&normalizer);
  for (int s = 0; s < 4; ++s) {
    std::vector<float> row(4), seen(4);
    row[s] = 1.0f;
    normalizer.normalize(row.data(), 1, seen.data());
    EXPECT_EQ(grid.cell(seen.data()), s);
  }
}

// Without a probe the two numbers are the coordinates: u goes to (1 + u / (1 + |u|)) / 2.
TEST(StateGrid, OfTwoNumbersHasThemAsAxes) {
  const StateGrid grid(SpaceKind::kBox, 2, {});
  EXPECT_EQ(grid.cells(), kSide * kSide);
  const auto cell = [&](float x, float y) {
    const std::vector<float> row{x, y};
    return grid.cell(row.data());
  };
  EXPECT_EQ(cell(0.0f, 0.0f), kSide / 2 * kSide + kSide / 2);
  EXPECT_EQ(cell(1.0f, 0.0f), kSide * 3 / 4 * kSide + kSide / 2);  // 3/4 of the side
  EXPECT_EQ(cell(0.0f, -1.0f), kSide / 2 * kSide + kSide / 4);
  EXPECT_EQ(cell(-1e30f, 1e30f), kSide - 1);  // far out is still inside
  EXPECT_EQ(cell(1e30f, -1e30f), (kSide - 1) * kSide);
}

TEST(StateGrid, OfOneNumberIsALine) {
  const StateGrid grid(SpaceKind::kBox, 1, {});
  EXPECT_EQ(grid.cells(), kSide);
  const float x = -1.0f;
  EXPECT_EQ(grid.cell(&x), kSide / 4);
}

TEST(StateGrid, UnitsOfTheObservationDoNotMatter) {
  Random random(3, Purpose::kUser, 0, 0);
  std::vector<float> probe, scaled, constant;
  for (int i = 0; i < 300; ++i) {
    for (int d = 0; d < 3; ++d) {
      probe.push_back(static_cast<float>(random.normal()));
      scaled.push_back(d == 1 ? 1024.0f * probe.back() + 4096.0f : probe.back());
    }
  }
  const StateGrid a(SpaceKind::kBox, 3, probe), b(SpaceKind::kBox, 3, scaled);
  int different = 0;
  std::set<int> cells;
  for (int i = 0; i < 300; ++i) {
    different += a.cell(&probe[3 * i]) != b.cell(&scaled[3 * i]) ? 1 : 0;
    cells.insert(a.cell(&probe[3 * i]));
  }
  EXPECT_LE(different, 2);  // on the line between two cells rounding decides
  EXPECT_GT(cells.size(), 100u);
}

TEST(StateGrid, StaysWhereItIsWhenTheNormaliserMoves) {
  Random random(4, Purpose::kUser, 0, 0);
  std::vector<float> probe;
  for (int i = 0; i < 1500; ++i) probe.push_back(static_cast<float>(3.0 + 2.0 * random.normal()));
  ObsNormalizer normalizer(5, 100.0, 1);
  normalizer.accumulate(0, probe.data(), 300);
  normalizer.commit();
  StateGrid raw(SpaceKind::kBox, 5, probe), seen(SpaceKind::kBox, 5, probe);
  seen.look_through(&normalizer);
  std::vector<float> row(5);
  int different = 0;
  for (int i = 0; i < 300; ++i) {
    normalizer.normalize(&probe[5 * i], 1, row.data());
    different += raw.cell(&probe[5 * i]) != seen.cell(row.data()) ? 1 : 0;
  }
  EXPECT_LE(different, 2);
}

TEST(StateGrid, ANumberThatNeverVariesHarmsNothing) {
  const std::vector<float> probe{1.0f, 5.0f, 2.0f, 5.0f, 3.0f, 5.0f};
  const StateGrid grid(SpaceKind::kBox, 2, probe);
  const std::vector<float> row{2.0f, 5.0f};
  EXPECT_EQ(grid.cell(row.data()), kSide / 2 * kSide + kSide / 2);
}

}  // namespace
}  // namespace broadloom
