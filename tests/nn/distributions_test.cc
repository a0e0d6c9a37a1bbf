// The distributions over tiles against their definitions, row by row in double precision.
#include "broadloom/nn/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/isa.h"
#include "broadloom/nn/chain.h"

namespace broadloom {
namespace {

class Distributions : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(set_isa(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
};

std::vector<float> normals(int n, std::uint64_t index, double scale = 1.0) {
  Random random(5, Purpose::kUser, 0, index);
  std::vector<float> values(static_cast<std::size_t>(n) * kTileRows);
  for (float& v : values) v = static_cast<float>(scale * random.normal());
  return values;
}

std::size_t at(int i, int r) { return static_cast<std::size_t>(i) * kTileRows + r; }

// The slow, obvious form of one row.
struct Categorical {
  Categorical(const std::vector<float>& logits, int count, int r) {
    double top = -1e300, sum = 0.0;
    for (int i = 0; i < count; ++i) top = std::max(top, double{logits[at(i, r)]});
    for (int i = 0; i < count; ++i) sum += std::exp(logits[at(i, r)] - top);
    for (int i = 0; i < count; ++i) {
      log_probs.push_back(logits[at(i, r)] - top - std::log(sum));
      entropy -= std::exp(log_probs.back()) * log_probs.back();
    }
  }
  std::vector<double> log_probs;
  double entropy = 0.0;
};

struct CategoricalTile {
  CategoricalTile(const std::vector<float>& logits, const std::vector<float>& actions, int count,
                  int rows) {
    categorical_normalisers(logits.data(), count, rows, normalisers.data());
    categorical_log_probs(logits.data(), normalisers.data(), actions.data(), count, rows,
                          log_probs.data());
    probs.resize(logits.size());
    categorical_entropies(logits.data(), normalisers.data(), count, rows, probs.data(),
                          entropies.data());
  }
  std::vector<float> normalisers = std::vector<float>(kTileRows), log_probs = normalisers,
                     entropies = normalisers, probs;
};

TEST_P(Distributions, CategoricalEqualsItsDefinition) {
  for (const int count : {1, 2, 3, 6, 18}) {
    for (const double scale : {0.01, 1.0, 30.0}) {
      const auto logits = normals(count, 1, scale);
      const auto a = normals(1, 2);
      std::vector<float> actions(kTileRows), d_logits(logits.size());
      for (int r = 0; r < kTileRows; ++r) actions[r] = static_cast<float>(r % count);
      const CategoricalTile tile(logits, actions, count, kTileRows);
      const float b = -0.3f;
      categorical_backward(logits.data(), tile.normalisers.data(), tile.probs.data(),
                           tile.entropies.data(), actions.data(), a.data(), b, count, kTileRows,
                           d_logits.data());
      for (int r = 0; r < kTileRows; ++r) {
        const Categorical row(logits, count, r);
        const double tolerance = 1e-6 * (1.0 + 4.0 * scale);
        ASSERT_NEAR(tile.log_probs[r], row.log_probs[r % count], tolerance);
        ASSERT_NEAR(tile.entropies[r], row.entropy, tolerance);
        for (int i = 0; i < count; ++i) {
          const double p = std::exp(row.log_probs[i]);
          const double expected =
              a[r] * ((i == r % count ? 1.0 : 0.0) - p) - b * p * (row.log_probs[i] + row.entropy);
          ASSERT_NEAR(tile.probs[at(i, r)], p, tolerance);
          ASSERT_NEAR(d_logits[at(i, r)], expected, 5 * tolerance);
        }
      }
    }
  }
}

TEST_P(Distributions, ARowsBitsDoNotDependOnItsTile) {
  constexpr int kCount = 3;
  const auto logits = normals(kCount, 3);
  std::vector<float> actions(kTileRows);
  for (int r = 0; r < kTileRows; ++r) actions[r] = static_cast<float>(r % kCount);
  const CategoricalTile whole(logits, actions, kCount, kTileRows);
  for (int r = 0; r < kTileRows; ++r) {
    std::vector<float> one(logits.size()), action{actions[r]};
    action.resize(kTileRows);
    for (int i = 0; i < kCount; ++i) one[at(i, 0)] = logits[at(i, r)];
    const CategoricalTile alone(one, action, kCount, 1);
    ASSERT_EQ(std::memcmp(&alone.log_probs[0], &whole.log_probs[r], sizeof(float)), 0);
  }
}

TEST_P(Distributions, SamplesFollowTheProbabilities) {
  constexpr int kCount = 5;
  const auto logits = normals(kCount, 4);
  std::vector<float> normalisers(kTileRows), uniforms(kTileRows), actions(kTileRows);
  categorical_normalisers(logits.data(), kCount, kTileRows, normalisers.data());
  for (int s = 0; s < 200; ++s) {
    for (int r = 0; r < kTileRows; ++r) uniforms[r] = static_cast<float>((s + 0.5) / 200);
    categorical_sample(logits.data(), normalisers.data(), uniforms.data(), kCount, kTileRows,
                       actions.data());
    for (int r = 0; r < kTileRows; ++r) {
      const Categorical row(logits, kCount, r);
      double below = 0.0;
      int expected = 0;
      while (expected + 1 < kCount && below + std::exp(row.log_probs[expected]) <= uniforms[r]) {
        below += std::exp(row.log_probs[expected++]);
      }
      const double edge = std::abs(below + std::exp(row.log_probs[expected]) - uniforms[r]);
      if (edge > 1e-5 && std::abs(below - uniforms[r]) > 1e-5) ASSERT_EQ(actions[r], expected);
    }
  }
  std::fill(uniforms.begin(), uniforms.end(), 0x0.ffffffp0f);  // the largest uniform there is
  categorical_sample(logits.data(), normalisers.data(), uniforms.data(), kCount, kTileRows,
                     actions.data());
  for (const float action : actions) EXPECT_LE(action, kCount - 1);
}

TEST_P(Distributions, ModeIsTheFirstOfTheLargest) {
  std::vector<float> logits(3 * kTileRows, 1.0f), actions(kTileRows);
  logits[at(2, 1)] = 2.0f;
  logits[at(1, 2)] = 5.0f;
  categorical_mode(logits.data(), 3, 3, actions.data());
  EXPECT_EQ(actions[0], 0.0f);
  EXPECT_EQ(actions[1], 2.0f);
  EXPECT_EQ(actions[2], 1.0f);
}

TEST_P(Distributions, GaussianEqualsItsDefinition) {
  const double half_log_2pi = 0.91893853320467274178;
  for (const int count : {1, 2, 6}) {
    for (const int rows : {1, 5, 16, 23, 64}) {
      const auto means = normals(count, 6), a = normals(1, 7), z = normals(count, 8);
      std::vector<float> log_std, actions(means.size()), scaled(means.size()),
          d_means(means.size()), log_probs(kTileRows), d_log_std(count, 0.25f);
      for (int i = 0; i < count; ++i) log_std.push_back(0.3f * static_cast<float>(i) - 0.5f);
      gaussian_sample(means.data(), log_std.data(), z.data(), count, rows, actions.data());
      gaussian_log_probs(means.data(), log_std.data(), actions.data(), count, rows, scaled.data(),
                         log_probs.data());
      const float b = 0.7f;
      gaussian_backward(scaled.data(), log_std.data(), a.data(), b, count, rows, d_means.data(),
                        d_log_std.data());
      std::vector<double> d_log_std_sum(count, 0.25);
      double entropy = 0.0;
      for (int i = 0; i < count; ++i) entropy += 0.5 + half_log_2pi + log_std[i];
      EXPECT_NEAR(gaussian_entropy(log_std.data(), count), entropy, 1e-5);
      for (int r = 0; r < rows; ++r) {
        double log_prob = 0.0;
        for (int i = 0; i < count; ++i) {
          const double std = std::exp(double{log_std[i]});
          ASSERT_NEAR(actions[at(i, r)], means[at(i, r)] + std * z[at(i, r)], 1e-5);
          const double distance = (double{actions[at(i, r)]} - means[at(i, r)]) / std;
          log_prob -= 0.5 * distance * distance + log_std[i] + half_log_2pi;
          ASSERT_NEAR(d_means[at(i, r)], a[r] * distance / std, 1e-4);
          d_log_std_sum[i] += a[r] * (distance * distance - 1.0) + b;
        }
        ASSERT_NEAR(log_probs[r], log_prob, 1e-4);
      }
      for (int i = 0; i < count; ++i) ASSERT_NEAR(d_log_std[i], d_log_std_sum[i], 1e-3);
    }
  }
}

TEST_P(Distributions, KeepNotANumber) {
  std::vector<float> logits(2 * kTileRows, 0.5f), actions(kTileRows);
  logits[at(1, 3)] = std::nanf("");
  const CategoricalTile tile(logits, actions, 2, 8);
  for (int r = 0; r < 8; ++r) EXPECT_EQ(std::isnan(tile.log_probs[r]), r == 3) << r;
}

// A diverged policy must be visible: no exponential wraps around to small numbers.
TEST_P(Distributions, LargeExponentsAreInfinite) {
  for (const float x : {89.0f, 120.0f, 178.0f, 200.0f, 400.0f, 1e4f, 1e30f}) {
    std::vector<float> logits(kTileRows, x), normalisers(kTileRows, 0.0f), probs(kTileRows),
        entropies(kTileRows);
    categorical_entropies(logits.data(), normalisers.data(), 1, 4, probs.data(), entropies.data());
    EXPECT_EQ(probs[0], HUGE_VALF) << x;
    for (float& logit : logits) logit = -x;
    categorical_entropies(logits.data(), normalisers.data(), 1, 4, probs.data(), entropies.data());
    EXPECT_LT(probs[0], 1e-38f) << x;
    EXPECT_GE(probs[0], 0.0f) << x;
  }
  for (const double x : {710.0, 800.0, 1e4, 1e300}) {
    std::vector<double> logits(kTileRows, x), normalisers(kTileRows, 0.0), probs(kTileRows),
        entropies(kTileRows);
    categorical_entropies(logits.data(), normalisers.data(), 1, 4, probs.data(), entropies.data());
    EXPECT_EQ(probs[0], HUGE_VAL) << x;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Distributions, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace broadloom
