// The variance study on chains with a variance in closed form.
#include "research/lab/variance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/lab/chains.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

VarianceResult study(const CorrelatedChain& chain, BlockShape shape, int blocks,
                     std::uint64_t seed) {
  VarianceStudy study(shape, {0.95}, static_cast<std::size_t>(chain.dimension), blocks, 20);
  VarianceStudy::Scratch scratch;
  for (int b = 0; b < blocks; ++b) {
    study.fold(study.measure(chain_block(chain, shape, seed, b), study.to_check(b), scratch));
  }
  return study.results().front();
}

struct Known {
  double total, individual, within, across, vif, signal_to_noise;
};

Known known(const CorrelatedChain& chain, BlockShape shape) {
  const double B = shape.batch(), N = shape.num_envs, T = shape.num_steps;
  Known k{};
  k.individual = chain.sample_variance() / B;
  k.within = N * chain.within(shape.num_steps) / (B * B);
  k.across = N * (N - 1) * T * chain.shared * chain.dimension / (B * B);
  k.total = k.individual + k.within + k.across;
  k.vif = B * k.total / chain.sample_variance();
  k.signal_to_noise = chain.squared_norm() / k.total;
  return k;
}

struct Case {
  std::string name;
  CorrelatedChain chain;
  BlockShape shape;
};

class KnownChains : public ::testing::TestWithParam<Case> {};

// On average, 57 of 60 intervals of 95 % hold the truth; fewer than 50 do so by chance less than
// once in a thousand times. The repetitions have fixed seeds.
TEST_P(KnownChains, AreRecoveredAtTheStatedCoverage) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const auto& [name, chain, shape] = GetParam();
  const Known truth = known(chain, shape);
  constexpr int kRepeats = 60, kBlocks = 160;
  int total = 0, individual = 0, within = 0, across = 0, vif = 0, norm = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const VarianceResult r = study(chain, shape, kBlocks, 100 + repeat);
    EXPECT_TRUE(r.parts_agree);
    EXPECT_NEAR(r.parts_sum.value, r.total.value, 1e-4 * r.total.value);
    total += r.total.holds(truth.total);
    individual += r.individual.holds(truth.individual);
    within += shape.num_steps == 1 || r.within.holds(truth.within);
    across += shape.num_envs == 1 || r.across.holds(truth.across);
    vif += r.variance_inflation.holds(truth.vif);
    norm += r.squared_norm.holds(chain.squared_norm());
  }
  for (const int held : {total, individual, within, across, vif, norm}) EXPECT_GE(held, 50);
}

// With many blocks the estimates come close: a missing factor would be noticed.
TEST_P(KnownChains, AreApproachedByManyBlocks) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  const auto& [name, chain, shape] = GetParam();
  const Known truth = known(chain, shape);
  const VarianceResult r = study(chain, shape, 4000, 7);
  EXPECT_NEAR(r.total.value, truth.total, 0.1 * truth.total);
  EXPECT_NEAR(r.individual.value, truth.individual, 0.03 * truth.individual);
  EXPECT_NEAR(r.within.value, truth.within, 0.1 * truth.total);
  EXPECT_NEAR(r.across.value, truth.across, 0.1 * truth.total);
  EXPECT_NEAR(r.variance_inflation.value, truth.vif, 0.1 * truth.vif);
  EXPECT_NEAR(r.effective_sample_size.value, shape.batch() / truth.vif,
              0.12 * shape.batch() / truth.vif);
  if (chain.mean != 0.0) {
    EXPECT_NEAR(r.signal_to_noise.value, truth.signal_to_noise, 0.25 * truth.signal_to_noise);
  }
  double by_lag = 0.0;
  for (const Estimate& bin : r.within_by_lag) by_lag += bin.value;
  EXPECT_NEAR(by_lag, r.within.value, 1e-9 * r.total.value);
}

INSTANTIATE_TEST_SUITE_P(Chains, KnownChains,
                         ::testing::Values(Case{"independent", {4, 0.2, 0.0, 0.0}, {8, 16}},
                                           Case{"positive", {4, 0.2, 0.8, 0.0}, {4, 32}},
                                           Case{"negative", {4, 0.2, -0.6, 0.0}, {4, 32}},
                                           Case{"one_environment", {3, 0.5, 0.5, 0.0}, {1, 100}},
                                           Case{"one_step", {3, 0.5, 0.0, 0.0}, {100, 1}},
                                           Case{"shared", {4, 0.2, 0.5, 0.3}, {12, 10}}),
                         [](const auto& info) { return info.param.name; });

// Tiles compared with the full double sum; borders of tiles cut environments in two.
TEST(VarianceStudy, LagsEqualADoubleLoop) {
  const CorrelatedChain chain{3, 0.4, 0.6, 0.2};
  for (const BlockShape shape : {BlockShape{3, 50}, BlockShape{1, 130}, BlockShape{40, 3}}) {
    const BlockRows rows = chain_block(chain, shape, 5, 0);
    VarianceStudy study(shape, {0.95}, 3, 10, 10);
    VarianceStudy::Scratch scratch;
    const BlockMoments m = study.measure(rows, true, scratch).front();
    const std::vector<LagBin> bins = lag_bins(shape.num_steps);
    std::vector<double> expected(bins.size(), 0.0);
    double all = 0.0;
    const double B = shape.batch();
    for (int i = 0; i < rows.rows(); ++i) {
      for (int j = 0; j < rows.rows(); ++j) {
        const double product = inner_product(rows.factors[0], i, j) / (B * B);
        all += product;
        const int lag = std::abs(i - j);
        if (lag == 0 || i / shape.num_steps != j / shape.num_steps) continue;
        for (std::size_t k = 0; k < bins.size(); ++k) {
          if (lag >= bins[k].low && lag <= bins[k].high) expected[k] += product;
        }
      }
    }
    for (std::size_t k = 0; k < bins.size(); ++k) {
      EXPECT_NEAR(m.within_by_lag[k], expected[k], 1e-5 * std::abs(all)) << k;
    }
    EXPECT_NEAR(m.gram_sum, all, 1e-5 * std::abs(all));
    EXPECT_NEAR(m.squared_norm, all, 1e-5 * std::abs(all));
  }
}

// Notices a sum of the Gram matrix that differs from |sum g|^2.
TEST(VarianceStudy, NoticesAnInconsistentGramMatrix) {
  const CorrelatedChain chain{3, 0.4, 0.6, 0.2};
  const BlockShape shape{4, 8};
  VarianceStudy study(shape, {0.95}, 3, 10, 10);
  VarianceStudy::Scratch scratch;
  for (int b = 0; b < 10; ++b) {
    auto moments = study.measure(chain_block(chain, shape, 1, b), true, scratch);
    if (b == 3) moments[0].gram_sum *= 1.1;
    study.fold(moments);
  }
  EXPECT_FALSE(study.results().front().parts_agree);
}

// Pairs of one environment that were counted as pairs of different ones leave the sum unchanged.
TEST(VarianceStudy, NoticesPairsInTheWrongPart) {
  const CorrelatedChain chain{3, 0.4, 0.9, 0.0};
  for (const BlockShape shape : {BlockShape{4, 8}, BlockShape{32, 64}}) {
    VarianceStudy study(shape, {0.95}, 3, 10, 10);
    VarianceStudy::Scratch scratch;
    for (int b = 0; b < 10; ++b) {
      auto moments = study.measure(chain_block(chain, shape, 1, b), b == 0, scratch);
      for (double& sum : moments[0].within_by_lag) sum *= 0.3;
      study.fold(moments);
    }
    EXPECT_FALSE(study.results().front().parts_agree);
  }
}

// If noise exceeds the signal, the critical batch has no upper bound.
TEST(VarianceStudy, CriticalBatchIsUnboundedWithoutASignal) {
  const CorrelatedChain none{4, 0.0, 0.0, 0.0}, some{4, 0.3, 0.0, 0.0};
  VarianceResult r = study(none, {8, 8}, 100, 3);
  EXPECT_TRUE(r.squared_norm.holds(0.0));
  EXPECT_TRUE(std::isinf(r.critical_batch.high));
  EXPECT_TRUE(std::isinf(r.noise_scale.high));
  r = study(some, {8, 8}, 1000, 3);
  const double truth = 4.0 / (4.0 * 0.3 * 0.3);
  for (const Estimate& e : {r.critical_batch, r.noise_scale}) {
    EXPECT_NEAR(e.value, truth, 0.15 * truth);
    EXPECT_GT(e.low, 0.7 * truth);
    EXPECT_LT(e.high, 1.4 * truth);
    EXPECT_LT(e.low, e.value);
    EXPECT_LT(e.value, e.high);
  }
}

TEST(LagBins, CoverEveryLagOnce) {
  for (const int steps : {1, 2, 3, 5, 64, 100, 1024}) {
    int next = 1;
    for (const LagBin& bin : lag_bins(steps)) {
      EXPECT_EQ(bin.low, next);
      EXPECT_GE(bin.high, bin.low);
      next = bin.high + 1;
    }
    EXPECT_EQ(next, std::max(1, steps));
  }
}

}  // namespace
}  // namespace broadloom
