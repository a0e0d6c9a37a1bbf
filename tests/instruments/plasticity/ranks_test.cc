#include "broadloom/instruments/plasticity/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace broadloom {
namespace {

TEST(FeatureRanks, OfEqualSingularValuesAreTheirShares) {
  const FeatureRanks ranks = feature_ranks(std::vector<double>(100, 2.0), 400, 100);
  EXPECT_EQ(ranks.approximate_rank, 99.0);  // 99 of 100 make up exactly 0.99
  EXPECT_EQ(ranks.srank, 99.0);
  EXPECT_NEAR(ranks.effective_rank, 100.0, 1e-9);
  EXPECT_EQ(ranks.feature_rank, 100.0);  // 2 / 20
  EXPECT_EQ(ranks.numeric_rank, 100.0);
}

// Of the squares 100, 1.21 and 0.01 the first makes up 0.9880, of 10, 1.1 and 0.1 the first two
// 0.9911.
TEST(FeatureRanks, TellTheirDefinitionsApart) {
  const FeatureRanks ranks = feature_ranks(std::vector<double>{10.0, 1.1, 0.1, 0.0}, 100, 4);
  EXPECT_EQ(ranks.approximate_rank, 2.0);
  EXPECT_EQ(ranks.srank, 2.0);
  const double p[] = {10.0 / 11.2, 1.1 / 11.2, 0.1 / 11.2};
  EXPECT_NEAR(ranks.effective_rank,
              std::exp(-p[0] * std::log(p[0]) - p[1] * std::log(p[1]) - p[2] * std::log(p[2])),
              1e-12);
  EXPECT_EQ(ranks.feature_rank, 2.0);  // 0.1 / sqrt(100) is just 0.01, which is not above it
  EXPECT_EQ(ranks.numeric_rank, 3.0);

  // One large value: the squared rule sees one direction where srank still sees three.
  const FeatureRanks steep = feature_ranks(std::vector<double>{30.0, 1.0, 1.0}, 100, 3);
  EXPECT_EQ(steep.approximate_rank, 1.0);  // 900 of 902
  EXPECT_EQ(steep.srank, 3.0);             // 31 of 32 are 0.969
}

TEST(FeatureRanks, NumericRankStopsAtFloatPrecision) {
  const double precision = 1024 * std::ldexp(1.0, -23);
  const std::vector<double> values{1.0, 1.01 * precision, 0.99 * precision};
  EXPECT_EQ(feature_ranks(values, 1024, 64).numeric_rank, 2.0);
}

TEST(FeatureRanks, OfNothingAreZero) {
  for (const std::vector<double>& values : {std::vector<double>{}, std::vector<double>(3, 0.0)}) {
    const FeatureRanks ranks = feature_ranks(values, 10, 3);
    for (const double rank : {ranks.approximate_rank, ranks.effective_rank, ranks.srank,
                              ranks.feature_rank, ranks.numeric_rank}) {
      EXPECT_EQ(rank, 0.0);
    }
  }
}

// All but Lyle's, whose cutoff is absolute.
TEST(FeatureRanks, DoNotChangeWithScale) {
  std::vector<double> values, larger;
  for (int i = 0; i < 40; ++i) {
    values.push_back(std::exp(-0.3 * i));
    larger.push_back(1000.0 * values.back());
  }
  const FeatureRanks a = feature_ranks(values, 64, 40), b = feature_ranks(larger, 64, 40);
  EXPECT_EQ(a.approximate_rank, b.approximate_rank);
  EXPECT_NEAR(a.effective_rank, b.effective_rank, 1e-12);
  EXPECT_EQ(a.srank, b.srank);
  EXPECT_EQ(a.numeric_rank, b.numeric_rank);
  EXPECT_LT(a.feature_rank, b.feature_rank);
}

}  // namespace
}  // namespace broadloom
