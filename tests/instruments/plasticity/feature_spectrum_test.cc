#include "broadloom/instruments/plasticity/feature_spectrum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/instruments/plasticity/ranks.h"

namespace broadloom {
namespace {

using Features = std::vector<float>;

std::vector<double> singular_values(const Features& features, int rows, int columns) {
  FeatureSpectrum spectrum(rows, columns);
  for (int first = 0; first < rows; first += 50) {
    spectrum.set_rows(static_cast<std::size_t>(first), std::min(50, rows - first),
                      features.data() + static_cast<std::size_t>(first) * columns);
  }
  for (int task = spectrum.multiply_tasks(); task-- > 0;) spectrum.multiply(task);
  spectrum.solve();
  const auto values = spectrum.singular_values();
  return {values.begin(), values.end()};
}

Features random_features(int rows, int columns, std::uint64_t seed) {
  Random random(seed, Purpose::kUser, 0, 0);
  Features features(static_cast<std::size_t>(rows) * columns);
  for (float& x : features) x = static_cast<float>(random.normal());
  return features;
}

TEST(FeatureSpectrum, OfTwoByTwoIsTheOneWorkedByHand) {
  // F^T F = [25 20; 20 25]: eigenvalues 45 and 5.
  const auto values = singular_values({3.0f, 0.0f, 4.0f, 5.0f}, 2, 2);
  EXPECT_NEAR(values[0], std::sqrt(45.0), 1e-14);
  EXPECT_NEAR(values[1], std::sqrt(5.0), 1e-14);
}

// Unit k answers to row k alone, with strength k + 1. 150 units are three panels.
TEST(FeatureSpectrum, OfOrthogonalFeaturesIsTheirSizes) {
  for (const int columns : {1, 64, 65, 150}) {
    Features features(static_cast<std::size_t>(200) * columns);
    for (int k = 0; k < columns; ++k) {
      features[static_cast<std::size_t>(k) * columns + k] = static_cast<float>(k + 1);
    }
    const auto values = singular_values(features, 200, columns);
    for (int k = 0; k < columns; ++k) EXPECT_NEAR(values[k], columns - k, 1e-10) << columns;
  }
}

TEST(FeatureSpectrum, DuplicatedUnitsAddNoRank) {
  const Features half = random_features(300, 40, 3);
  Features twice;
  for (int r = 0; r < 300; ++r) {
    for (int copy = 0; copy < 2; ++copy) {
      twice.insert(twice.end(), half.begin() + 40 * r, half.begin() + 40 * (r + 1));
    }
  }
  const auto single = singular_values(half, 300, 40);
  const auto doubled = singular_values(twice, 300, 80);
  for (int i = 0; i < 40; ++i) EXPECT_NEAR(doubled[i], std::sqrt(2.0) * single[i], 1e-9);
  for (int i = 40; i < 80; ++i) EXPECT_LT(doubled[i], 1e-6 * doubled[0]);
  const FeatureRanks a = feature_ranks(single, 300, 40), b = feature_ranks(doubled, 300, 80);
  EXPECT_EQ(a.approximate_rank, b.approximate_rank);
  EXPECT_EQ(a.srank, b.srank);
  EXPECT_NEAR(a.effective_rank, b.effective_rank, 1e-4);
  EXPECT_EQ(b.feature_rank, 40.0);
  EXPECT_EQ(b.numeric_rank, 40.0);
}

TEST(FeatureSpectrum, DoesNotChangeWithTheOrderOfRowsOrUnits) {
  const int rows = 120, columns = 70;
  const Features features = random_features(rows, columns, 4);
  Features mixed(features.size());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      mixed[static_cast<std::size_t>((7 * r) % rows) * columns + (3 * c) % columns] =
          features[static_cast<std::size_t>(r) * columns + c];
    }
  }
  const auto a = singular_values(features, rows, columns);
  const auto b = singular_values(mixed, rows, columns);
  for (int i = 0; i < columns; ++i) EXPECT_NEAR(a[i], b[i], 1e-11);
}

// The same states twice over: every s grows by sqrt(2), and no rank changes.
TEST(FeatureSpectrum, RanksDoNotChangeWithRepeatedStates) {
  const Features once = random_features(100, 30, 5);
  Features twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  const FeatureRanks a = feature_ranks(singular_values(once, 100, 30), 100, 30);
  const FeatureRanks b = feature_ranks(singular_values(twice, 200, 30), 200, 30);
  EXPECT_EQ(a.approximate_rank, b.approximate_rank);
  EXPECT_NEAR(a.effective_rank, b.effective_rank, 1e-9);
  EXPECT_EQ(a.srank, b.srank);
  EXPECT_EQ(a.feature_rank, b.feature_rank);
  EXPECT_EQ(a.numeric_rank, b.numeric_rank);
}

TEST(FeatureSpectrum, FewerRowsThanUnitsBoundTheRank) {
  const auto values = singular_values(random_features(20, 90, 6), 20, 90);
  EXPECT_EQ(feature_ranks(values, 20, 90).numeric_rank, 20.0);
}

}  // namespace
}  // namespace broadloom
