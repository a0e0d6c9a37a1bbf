// The correlation study on chains with known correlations, and compared with plain double loops.
#include "research/lab/correlation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/lab/chains.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

CorrelationResult study(const CorrelatedChain& chain, BlockShape shape,
                        const std::vector<int>& lags, int blocks, std::uint64_t seed) {
  CorrelationStudy study(shape, {0.95}, lags, static_cast<std::size_t>(chain.dimension), blocks, 20,
                         seed, 8);
  for (int b = 0; b < blocks; ++b) study.fold(study.measure(chain_block(chain, shape, seed, b), b));
  return study.results().front();
}

TEST(CorrelationStudy, RecoversAutocovarianceAtTheStatedCoverage) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const CorrelatedChain chain{4, 0.3, 0.7, 0.2};
  const BlockShape shape{4, 32};
  const std::vector<int> lags{1, 3, 5, 10, 40};
  constexpr int kRepeats = 60;
  std::vector<int> held(5, 0);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const CorrelationResult r = study(chain, shape, lags, 160, 300 + repeat);
    ASSERT_EQ(r.within.size(), 4u);  // 40 exceeds the block
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_EQ(r.within[k].lag, lags[k]);
      held[k] += r.within[k].autocovariance.holds(0.8 * std::pow(0.7, lags[k]));
    }
    // Environments share a fifth of the variance, only at equal steps: 1 pair in 32.
    held[4] += r.across.autocovariance.holds(0.2 / 32);
  }
  for (const int h : held) EXPECT_GE(h, 50);  // 57 of 60 on average
}

// Independent gradients in d dimensions have E cos^2 = 1 / d, and cosines symmetric about 0.
TEST(CorrelationStudy, CosinesOfIndependentGradients) {
  const CorrelationResult r = study({5, 0.0, 0.0, 0.0}, {16, 16}, {1, 4}, 200, 1);
  for (const PairCorrelation* p : {&r.within[0], &r.within[1], &r.across}) {
    EXPECT_NEAR(p->cosine.mean.value, 0.0, 0.01);
    EXPECT_NEAR(p->cosine.mean_square.value, 0.2, 0.005);
    EXPECT_EQ(std::accumulate(p->cosine.histogram.begin(), p->cosine.histogram.end(), 0LL),
              p->cosine.pairs);
  }
  EXPECT_EQ(r.within[0].cosine.pairs, 200 * 16 * 15);
  // Means of independent blocks without a signal also have E cos^2 = 1 / d.
  EXPECT_EQ(r.batch_means.pairs, 200 * 199 / 2);
  EXPECT_TRUE(r.batch_means.mean_square.holds(0.2));
  EXPECT_TRUE(r.batch_means.mean.holds(0.0));
}

// With a signal: E cos of two blocks' means is near |mu|^2 / (|mu|^2 + Tr Cov) in many dimensions.
TEST(CorrelationStudy, BlocksWithASignalPointTheSameWay) {
  const CorrelatedChain chain{200, 0.1, 0.0, 0.0};
  const CorrelationResult r = study(chain, {8, 8}, {1}, 60, 2);
  const double signal = chain.squared_norm(), noise = chain.sample_variance() / 64.0;
  EXPECT_NEAR(r.batch_means.mean.value, signal / (signal + noise), 0.02);
  ASSERT_EQ(r.batch_mean_matrix.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(r.batch_mean_matrix[i][i], 1.0f);
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(r.batch_mean_matrix[i][j], r.batch_mean_matrix[j][i]);
    }
  }
}

// The number of compared means is limited, and every group keeps its share.
TEST(CorrelationStudy, ComparesAFewHundredMeansOfManyBlocks) {
  const CorrelationResult r = study({5, 0.0, 0.0, 0.0}, {2, 2}, {1}, 1000, 3);
  EXPECT_EQ(r.batch_means.pairs, 334 * 333 / 2);
  EXPECT_TRUE(r.batch_means.mean_square.holds(0.2));
  EXPECT_GT(r.batch_means.mean_square.high, r.batch_means.mean_square.low);
}

// One block compared with explicit vectors; trajectories end inside environments.
TEST(CorrelationStudy, EqualsExplicitVectors) {
  const CorrelatedChain chain{3, 0.4, 0.5, 0.0};
  const BlockShape shape{2, 12};
  BlockRows rows = chain_block(chain, shape, 4, 0);
  for (std::size_t r = 0; r < rows.trajectory.size(); ++r) {
    rows.trajectory[r] = static_cast<int>(r) / 5;  // borders at 5, 10, 15, 20, and one at 12
    if (r >= 12) rows.trajectory[r] += 10;
    rows.weights[0][r] = 0.5f + 0.1f * static_cast<float>(r % 4);
  }
  const auto gradient = [&](int r, int d) {
    return static_cast<double>(rows.weights[0][r]) * rows.factors[0].extras[r * 3 + d];
  };
  double mean[3] = {};
  for (int r = 0; r < 24; ++r) {
    for (int d = 0; d < 3; ++d) mean[d] += gradient(r, d) / 24;
  }
  const auto cosine = [&](int i, int j) {
    double ij = 0, ii = 0, jj = 0;
    for (int d = 0; d < 3; ++d) {
      const double a = gradient(i, d) - mean[d], b = gradient(j, d) - mean[d];
      ij += a * b, ii += a * a, jj += b * b;
    }
    return ij / std::sqrt(ii * jj);
  };
  CorrelationStudy study(shape, {0.95}, {1, 2}, 3, 1, 1, 9, 1);
  const auto moments = study.measure(rows, 0);
  for (int k = 0; k < 2; ++k) {
    double sum = 0.0, abs = 0.0, square = 0.0;
    int pairs = 0;
    for (int i = 0; i + k + 1 < 24; ++i) {
      if (rows.trajectory[i] != rows.trajectory[i + k + 1]) continue;
      const double c = cosine(i, i + k + 1);
      sum += c, abs += std::abs(c), square += c * c, ++pairs;
    }
    EXPECT_EQ(moments[0].kinds[k].count, pairs);
    EXPECT_NEAR(moments[0].kinds[k].sum, sum, 1e-4);
    EXPECT_NEAR(moments[0].kinds[k].abs, abs, 1e-4);
    EXPECT_NEAR(moments[0].kinds[k].square, square, 1e-4);
  }
}

// Independent states of two kinds: gradients are rare and long in one, short in the other. No
// direction is favoured. But less their block's mean, all short ones resemble minus that mean.
TEST(CorrelationStudy, CentringMakesIndependentGradientsResembleEachOther) {
  constexpr int kDimension = 20;
  const BlockShape shape{16, 16};
  CorrelationStudy study(shape, {0.95}, {1}, kDimension, 100, 20, 9, 1);
  for (int b = 0; b < 100; ++b) {
    BlockRows rows = chain_block({kDimension, 0.0, 0.0, 0.0}, shape, 11, b);
    Random random(12, Purpose::kUser, 0, static_cast<std::uint64_t>(b));
    for (float& w : rows.weights[0]) w = random.uniform() < 0.1 ? 1.0f : 0.001f;
    study.fold(study.measure(rows, b));
  }
  const CorrelationResult r = study.results().front();
  for (const PairCorrelation* p : {&r.across, &r.within[0]}) {
    EXPECT_TRUE(p->uncentred.holds(0.0)) << p->uncentred.low << " " << p->uncentred.high;
    EXPECT_LT(p->uncentred.high, 0.01);
    EXPECT_GT(p->cosine.mean.low, 0.7);  // 81 % of pairs are two short ones
    EXPECT_TRUE(p->autocovariance.holds(0.0));
  }
}

// With equal lengths, centring changes the resemblance only by about 1 / n.
TEST(CorrelationStudy, CentringDoesLittleToGradientsOfOneLength) {
  const CorrelationResult r = study({5, 0.0, 0.0, 0.0}, {16, 16}, {1}, 400, 1);
  EXPECT_NEAR(r.across.cosine.mean.value, -1.0 / 256.0, 0.003);
  EXPECT_NEAR(r.across.uncentred.value, 0.0, 0.003);
}

// Gradients that are all zero have no direction. They are not counted, and only numbers without
// pairs are NaN.
TEST(CorrelationStudy, GradientsOfZeroAreLeftOut) {
  BlockRows rows = chain_block({3, 0.0, 0.0, 0.0}, {2, 8}, 4, 0);
  std::fill(rows.weights[0].begin(), rows.weights[0].end(), 0.0f);
  CorrelationStudy study({2, 8}, {0.95}, {1}, 3, 2, 2, 9, 2);
  for (int b = 0; b < 2; ++b) study.fold(study.measure(rows, b));
  const CorrelationResult r = study.results().front();
  EXPECT_EQ(r.within[0].cosine.pairs, 0);
  EXPECT_TRUE(std::isnan(r.within[0].cosine.mean.value));
}

}  // namespace
}  // namespace broadloom
