#include "broadloom/instruments/plasticity/unit_activity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace broadloom {
namespace {

std::vector<UnitSums> sums_of(const std::vector<std::vector<double>>& units) {
  std::vector<UnitSums> sums(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const double h : units[u]) sums[u].add(h);
  }
  return sums;
}

TEST(IdleUnits, AreCountedByFourDefinitions) {
  const IdleUnits idle = count_idle(sums_of({
                                        {1.0, -1.0, 1.0, -1.0},      // at work
                                        {0.0, 0.0, 0.0, 0.0},        // a dead ReLU
                                        {0.9999, 1.0, 1.0, 1.0},     // a saturated tanh
                                        {0.0, 0.0, 0.0, 3e-5},       // mean 7.5e-6
                                        {0.01, -0.01, 0.01, -0.01},  // weak beside its layer
                                    }),
                                    4);
  EXPECT_EQ(idle.units, 5);
  EXPECT_EQ(idle.dormant, 2);
  EXPECT_EQ(idle.tau_dormant, 3);  // the average is 0.402: up to 0.01005
  EXPECT_EQ(idle.silent, 1);
  EXPECT_EQ(idle.constant, 3);
  EXPECT_DOUBLE_EQ(idle.percent(idle.constant), 60.0);
}

// A tanh at -1 or 1 is no dormant unit by its size, which is what the deviation is for.
TEST(IdleUnits, ASaturatedTanhIsConstantNotDormant) {
  const IdleUnits idle = count_idle(sums_of({{-1.0, -1.0}, {1.0, 1.0}, {-1.0, 1.0}}), 2);
  EXPECT_EQ(idle.dormant, 0);
  EXPECT_EQ(idle.tau_dormant, 0);
  EXPECT_EQ(idle.constant, 2);
}

TEST(IdleUnits, TauIsRelativeTheAbsoluteThresholdIsNot) {
  for (const double scale : {1.0, 1e-6, 1e6}) {
    const IdleUnits idle = count_idle(sums_of({{scale, -scale}, {0.02 * scale, 0.0}}), 2);
    EXPECT_EQ(idle.tau_dormant, 1) << scale;
    EXPECT_EQ(idle.dormant, scale == 1e-6 ? 2 : 0) << scale;
    EXPECT_EQ(idle.silent, 0) << scale;
  }
}

TEST(IdleUnits, ALayerOfZerosIsDormantInEverySense) {
  const IdleUnits idle = count_idle(sums_of({{0.0, 0.0}, {0.0, 0.0}}), 2);
  for (const int count : {idle.dormant, idle.tau_dormant, idle.silent, idle.constant}) {
    EXPECT_EQ(count, 2);
  }
}

TEST(IdleUnits, RepeatedRowsAndOtherOrdersChangeNothing) {
  const std::vector<std::vector<double>> units{{0.5, 0.1}, {0.0, 1e-6}, {0.3, 0.3}};
  const std::vector<std::vector<double>> mixed{
      {0.3, 0.3, 0.3, 0.3}, {0.1, 0.5, 0.5, 0.1}, {1e-6, 0.0, 1e-6, 0.0}};
  const IdleUnits a = count_idle(sums_of(units), 2), b = count_idle(sums_of(mixed), 4);
  EXPECT_EQ(a.dormant, b.dormant);
  EXPECT_EQ(a.tau_dormant, b.tau_dormant);
  EXPECT_EQ(a.silent, b.silent);
  EXPECT_EQ(a.constant, b.constant);
  EXPECT_EQ(a.dormant, 1);
}

TEST(IdleUnits, LayersAddUp) {
  IdleUnits all = count_idle(sums_of({{0.0}, {1.0}}), 1);
  all.add(count_idle(sums_of({{0.0}, {0.0}}), 1));
  EXPECT_EQ(all.units, 4);
  EXPECT_DOUBLE_EQ(all.percent(all.silent), 75.0);
  EXPECT_TRUE(std::isnan(IdleUnits().percent(0)));
}

}  // namespace
}  // namespace broadloom
