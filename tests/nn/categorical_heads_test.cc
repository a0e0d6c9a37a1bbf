// Several independent categoricals against the joint distribution of all combinations.
#include "broadloom/nn/categorical_heads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/chain.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

constexpr int kRows = 37;
const std::vector<int> kCounts{3, 1, 4};  // 8 logits, 12 combinations

template <class Real>
std::vector<Real> normals(std::size_t rows, std::uint64_t index) {
  Random random(5, Purpose::kUser, 0, index);
  std::vector<Real> values(rows * kTileRows);
  for (Real& value : values) value = static_cast<Real>(random.normal());
  return values;
}

template <class Real>
struct Tile {
  explicit Tile(std::vector<Real> all_logits) : logits(std::move(all_logits)) {
    Random random(6, Purpose::kUser, 0, 0);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      actions[i] = static_cast<Real>(random.below(static_cast<unsigned>(kCounts[i / kTileRows])));
    }
    heads.normalisers(logits.data(), kRows, normalisers.data());
    heads.log_probs(logits.data(), normalisers.data(), actions.data(), kRows, log_probs.data());
    heads.entropies(logits.data(), normalisers.data(), kRows, probs.data(), head_entropies.data(),
                    entropies.data());
  }

  CategoricalHeads heads{kCounts};
  std::vector<Real> logits, probs = std::vector<Real>(logits.size());
  std::vector<Real> actions = std::vector<Real>(kCounts.size() * kTileRows), normalisers = actions,
                    head_entropies = actions;
  std::vector<Real> log_probs = std::vector<Real>(kTileRows), entropies = log_probs;
};

// The slow, obvious form: log-probabilities of every combination of choices in row r.
struct Joint {
  Joint(const std::vector<double>& logits, int r) {
    std::vector<std::vector<double>> parts;
    std::size_t first = 0;
    for (const int count : kCounts) {
      std::vector<double> part;
      double sum = 0.0;
      for (int i = 0; i < count; ++i) {
        part.push_back(logits[(first + static_cast<std::size_t>(i)) * kTileRows + r]);
        sum += std::exp(part.back());
      }
      for (double& value : part) value -= std::log(sum);
      parts.push_back(part);
      first += static_cast<std::size_t>(count);
    }
    for (const double a : parts[0]) {
      for (const double b : parts[1]) {
        for (const double c : parts[2]) log_probs.push_back(a + b + c);
      }
    }
  }
  double log_prob(int a, int b, int c) const {
    return log_probs[static_cast<std::size_t>((a * kCounts[1] + b) * kCounts[2] + c)];
  }
  double entropy() const {
    return -std::accumulate(log_probs.begin(), log_probs.end(), 0.0,
                            [](double sum, double l) { return sum + std::exp(l) * l; });
  }
  std::vector<double> log_probs;
};

TEST(CategoricalHeads, AreTheJointDistribution) {
  const Tile<double> tile(normals<double>(8, 1));
  for (int r = 0; r < kRows; ++r) {
    const Joint joint(tile.logits, r);
    const auto choice = [&](int head) {
      return static_cast<int>(tile.actions[head * kTileRows + r]);
    };
    EXPECT_NEAR(tile.log_probs[r], joint.log_prob(choice(0), choice(1), choice(2)), 1e-13);
    EXPECT_NEAR(tile.entropies[r], joint.entropy(), 1e-13);
  }
}

TEST(CategoricalHeads, HaveTheDerivativesOfFiniteDifferences) {
  const std::vector<double> logits = normals<double>(8, 2), a = normals<double>(1, 3);
  constexpr double b = 0.3, h = 1e-4;
  const Tile<double> tile(logits);
  std::vector<double> d_logits(logits.size());
  tile.heads.backward(logits.data(), tile.normalisers.data(), tile.probs.data(),
                      tile.head_entropies.data(), tile.actions.data(), a.data(), b, kRows,
                      d_logits.data());
  for (std::size_t i = 0; i < 8; ++i) {
    std::vector<double> more = logits, less = logits;
    for (int r = 0; r < kRows; ++r) more[i * kTileRows + r] += h, less[i * kTileRows + r] -= h;
    const Tile<double> above(more), below(less);
    for (int r = 0; r < kRows; ++r) {
      const double slope = (a[r] * (above.log_probs[r] - below.log_probs[r]) +
                            b * (above.entropies[r] - below.entropies[r])) /
                           (2.0 * h);
      EXPECT_NEAR(d_logits[i * kTileRows + r], slope, 1e-7) << i << ", row " << r;
    }
  }
}

// A Discrete action is the special case of one head.
TEST(CategoricalHeads, WithOneHeadAreTheCategorical) {
  const std::vector<int> one{5};
  const CategoricalHeads heads(one);
  const std::vector<float> logits = normals<float>(5, 4);
  std::vector<float> uniforms(kTileRows), actions(kTileRows), expected_actions(kTileRows),
      normalisers(kTileRows), expected(kTileRows), log_probs(kTileRows);
  Random random(7, Purpose::kUser, 0, 0);
  for (float& u : uniforms) u = static_cast<float>(random.uniform());
  heads.normalisers(logits.data(), kTileRows, normalisers.data());
  heads.sample(logits.data(), normalisers.data(), uniforms.data(), kTileRows, actions.data());
  heads.log_probs(logits.data(), normalisers.data(), actions.data(), kTileRows, log_probs.data());
  categorical_sample(logits.data(), normalisers.data(), uniforms.data(), 5, kTileRows,
                     expected_actions.data());
  categorical_log_probs(logits.data(), normalisers.data(), actions.data(), 5, kTileRows,
                        expected.data());
  EXPECT_EQ(actions, expected_actions);
  EXPECT_EQ(log_probs, expected);
}

// Frequencies of 37 x 2,000 draws from one distribution, five standard errors.
TEST(CategoricalHeads, SampleEveryHeadByItsProbabilities) {
  constexpr int kDraws = 2000;
  std::vector<float> logits = normals<float>(8, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(i) * kTileRows, kTileRows,
                logits[i * kTileRows]);
  }
  Tile<float> tile(logits);
  std::vector<float> uniforms(kCounts.size() * kTileRows), actions(uniforms.size());
  std::vector<double> times(8, 0.0);
  Random random(9, Purpose::kUser, 0, 0);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (float& u : uniforms) u = static_cast<float>(random.uniform());
    tile.heads.sample(logits.data(), tile.normalisers.data(), uniforms.data(), kRows,
                      actions.data());
    for (int r = 0; r < kRows; ++r) {
      times[static_cast<std::size_t>(actions[r])] += 1.0;
      times[3 + static_cast<std::size_t>(actions[kTileRows + r])] += 1.0;
      times[4 + static_cast<std::size_t>(actions[2 * kTileRows + r])] += 1.0;
    }
  }
  constexpr double kAll = kDraws * kRows;
  for (std::size_t i = 0; i < 8; ++i) {
    const double p = tile.probs[i * kTileRows];
    EXPECT_NEAR(times[i] / kAll, p, 5.0 * std::sqrt(p * (1.0 - p) / kAll) + 1e-6) << i;
  }
}

// With masks, of the first and third head: invalid choices are those of kValid that are 0.
constexpr int kValid[] = {1, 0, 1, 1, 0, 1, 1, 0};

template <class Real>
std::vector<Real> masked_normals() {
  std::vector<Real> logits = normals<Real>(8, 11);
  for (std::size_t i = 0; i < 8; ++i) {
    if (kValid[i] != 0) continue;
    std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(i) * kTileRows, kTileRows,
                static_cast<Real>(kInvalidLogit));
  }
  return logits;
}

// The slow form: the distribution over the valid choices alone, which sb3-contrib's
// MaskableCategorical is as well.
template <class Real>
void expect_the_valid_ones(double tolerance) {
  const std::vector<Real> logits = masked_normals<Real>();
  Tile<Real> tile(logits);
  const std::vector<Real> a = normals<Real>(1, 12);
  std::vector<Real> d_logits(logits.size());
  constexpr Real b = Real(0.3);
  tile.heads.backward(logits.data(), tile.normalisers.data(), tile.probs.data(),
                      tile.head_entropies.data(), tile.actions.data(), a.data(), b, kRows,
                      d_logits.data());
  for (int r = 0; r < kRows; ++r) {
    double entropy = 0.0;
    std::size_t first = 0;
    for (std::size_t head = 0; head < kCounts.size(); ++head) {
      const auto count = static_cast<std::size_t>(kCounts[head]);
      double sum = 0.0;
      for (std::size_t i = first; i < first + count; ++i) {
        if (kValid[i] != 0) sum += std::exp(static_cast<double>(logits[i * kTileRows + r]));
      }
      double own = 0.0;
      const auto log_prob = [&](std::size_t i) {
        return static_cast<double>(logits[i * kTileRows + r]) - std::log(sum);
      };
      for (std::size_t i = first; i < first + count; ++i) {
        if (kValid[i] != 0) own -= std::exp(log_prob(i)) * log_prob(i);
      }
      for (std::size_t i = first; i < first + count; ++i) {
        const std::size_t place = i * kTileRows + static_cast<std::size_t>(r);
        if (kValid[i] == 0) {
          EXPECT_EQ(tile.probs[place], Real(0));
          if (tile.actions[head * kTileRows + r] != static_cast<Real>(i - first)) {
            EXPECT_EQ(d_logits[place], Real(0));
          }
          continue;
        }
        const double p = std::exp(log_prob(i));
        const double chosen = tile.actions[head * kTileRows + r] == static_cast<Real>(i - first);
        EXPECT_NEAR(tile.probs[place], p, tolerance);
        EXPECT_NEAR(d_logits[place],
                    static_cast<double>(a[r]) * (chosen - p) -
                        static_cast<double>(b) * p * (log_prob(i) + own),
                    tolerance);
      }
      entropy += own;
      first += count;
    }
    EXPECT_NEAR(tile.entropies[r], entropy, tolerance);
  }
}

TEST(CategoricalHeads, WithMasksAreTheDistributionOfTheValidChoices) {
  expect_the_valid_ones<double>(1e-13);
  expect_the_valid_ones<float>(2e-6);
}

// Also where the probabilities' sum rounds below a uniform: then the last choice is taken.
TEST(CategoricalHeads, WithMasksSampleValidChoices) {
  const std::vector<float> logits = masked_normals<float>();
  const Tile<float> tile(logits);
  std::vector<float> uniforms(kCounts.size() * kTileRows), actions(uniforms.size());
  for (const float u : {0.0f, 0.4f, 0.8f, 0.99999994f}) {
    std::fill(uniforms.begin(), uniforms.end(), u);
    std::vector<float> normalisers = tile.normalisers;
    for (const float excess : {0.0f, 0.1f}) {  // normalisers that are too large
      for (float& normaliser : normalisers) normaliser += excess;
      tile.heads.sample(logits.data(), normalisers.data(), uniforms.data(), kRows, actions.data(),
                        true);
      for (int r = 0; r < kRows; ++r) {
        EXPECT_NE(actions[r], 1.0f);
        EXPECT_TRUE(actions[2 * kTileRows + r] == 1.0f || actions[2 * kTileRows + r] == 2.0f);
      }
    }
  }
}

TEST(CategoricalHeads, ChooseTheLargestLogitOfEveryHead) {
  std::vector<float> logits(8 * kTileRows, 0.0f);
  logits[2 * kTileRows] = 1.0f;  // row 0: 2, 0, 1
  logits[5 * kTileRows] = 3.0f;
  std::vector<float> actions(kCounts.size() * kTileRows);
  CategoricalHeads(kCounts).mode(logits.data(), 2, actions.data());
  EXPECT_EQ(actions[0], 2.0f);
  EXPECT_EQ(actions[kTileRows], 0.0f);
  EXPECT_EQ(actions[2 * kTileRows], 1.0f);
  for (int head = 0; head < 3; ++head) EXPECT_EQ(actions[head * kTileRows + 1], 0.0f);
}

}  // namespace
}  // namespace broadloom
