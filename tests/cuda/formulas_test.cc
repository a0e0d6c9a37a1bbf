// Formulas of one element for host and device, compared with the library's vector code: equal to
// the bit if the vector code fuses multiplication and addition.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/optimizer.h"
#include "broadloom/math/adam_formula.h"
#include "broadloom/math/element_functions.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/random_formulas.h"
#include "broadloom/math/random_rows.h"
#include "broadloom/nn/chain.h"
#include "broadloom/nn/distribution_formulas.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/nn/pair_formulas.h"

namespace broadloom {
namespace {

std::vector<float> normals(std::size_t count, double scale, std::uint64_t index = 0) {
  Random random(31, Purpose::kUser, 0, index);
  std::vector<float> out(count);
  for (float& x : out) x = static_cast<float>(scale * random.normal());
  return out;
}

void expect_same(const std::vector<float>& got, const std::vector<float>& vectors) {
  ASSERT_EQ(got.size(), vectors.size());
  const bool fuses = has_common_bits(active_isa());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(vectors[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << i;
    } else if (fuses) {
      ASSERT_EQ(element::bits_of(got[i]), element::bits_of(vectors[i]))
          << i << ": " << got[i] << ", expected " << vectors[i];
    } else if (got[i] != vectors[i]) {
      ASSERT_NEAR(got[i], vectors[i], 1e-5f * (1.0f + std::fabs(vectors[i]))) << i;
    }
  }
}

std::vector<float> all_sorts() {
  std::vector<float> x = normals(4000, 3.0);
  for (const float scale : {1e-30f, 1e-3f, 8.0f, 30.0f, 120.0f}) {
    for (const float u : normals(200, scale)) x.push_back(u);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float edge : {0.0f, -0.0f, 8.0f, -8.0f, 88.7f, 88.8f, -103.0f, -105.0f, infinity,
                           -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    x.push_back(edge);
  }
  return x;
}

TEST(ElementFunctions, ActivateAsVectorsDo) {
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    std::vector<float> x = all_sorts(), vectors = x;
    activate(activation, vectors.data(), vectors.size());
    std::vector<float> got(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) got[i] = element::activate(activation, x[i]);
    expect_same(got, vectors);
    std::vector<float> deltas = normals(x.size(), 1.0, 1), back = deltas;
    activate_backward(activation, vectors.data(), back.data(), back.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      got[i] = element::activate_backward(activation, vectors[i], deltas[i]);
    }
    expect_same(got, back);
  }
}

// Arrays [count, kTileRows].
struct Rows {
  explicit Rows(int count) : numbers(static_cast<std::size_t>(count) * kTileRows) {}
  float* at(int i, int r) { return &numbers[static_cast<std::size_t>(i) * kTileRows + r]; }
  std::vector<float> numbers;
};

TEST(DistributionFormulas, MatchVectorsForCategoricalRows) {
  for (const int count : {1, 2, 3, 6, 18}) {
    Rows logits(count), probs(count), d_logits(count), got_d(count);
    logits.numbers = normals(logits.numbers.size(), 4.0, static_cast<std::uint64_t>(count));
    std::vector<float> u(kTileRows), a = normals(kTileRows, 1.0, 77), normalisers(kTileRows),
                                     actions(kTileRows), log_probs(kTileRows), entropies(kTileRows),
                                     got_actions, got_log_probs, got_entropies;
    random_uniforms({9, Purpose::kAction, 5, 3, kTileRows}, 1, u.data(), kTileRows);
    const float* z = logits.numbers.data();
    categorical_normalisers(z, count, kTileRows, normalisers.data());
    categorical_sample(z, normalisers.data(), u.data(), count, kTileRows, actions.data());
    categorical_log_probs(z, normalisers.data(), actions.data(), count, kTileRows,
                          log_probs.data());
    categorical_entropies(z, normalisers.data(), count, kTileRows, probs.numbers.data(),
                          entropies.data());
    categorical_backward(z, normalisers.data(), probs.numbers.data(), entropies.data(),
                         actions.data(), a.data(), 0.03f, count, kTileRows,
                         d_logits.numbers.data());
    for (int r = 0; r < kTileRows; ++r) {
      Random random(9, Purpose::kAction, static_cast<std::uint32_t>(5 + r), 3);
      const CategoricalRow row(logits.at(0, r), count, kTileRows);
      const int action = row.sample(draw_uniform(random));
      got_actions.push_back(static_cast<float>(action));
      got_log_probs.push_back(row.log_prob(action));
      got_entropies.push_back(row.entropy());
      row.backward(action, a[static_cast<std::size_t>(r)], 0.03f, row.entropy(), got_d.at(0, r));
    }
    expect_same(got_actions, actions);
    expect_same(got_log_probs, log_probs);
    expect_same(got_entropies, entropies);
    expect_same(got_d.numbers, d_logits.numbers);
  }
}

TEST(DistributionFormulas, MatchVectorsForGaussianRows) {
  for (const int count : {1, 2, 3, 7}) {
    Rows means(count), draws(count), actions(count), scaled(count), d_means(count);
    Rows got_draws(count), got_actions(count), got_d(count);
    means.numbers = normals(means.numbers.size(), 2.0, static_cast<std::uint64_t>(count));
    const std::vector<float> log_std = normals(static_cast<std::size_t>(count), 0.5, 5);
    std::vector<float> a = normals(kTileRows, 1.0, 78), log_probs(kTileRows), got_log_probs;
    random_normals({9, Purpose::kAction, 5, 3, kTileRows}, count, draws.numbers.data(), kTileRows);
    gaussian_sample(means.numbers.data(), log_std.data(), draws.numbers.data(), count, kTileRows,
                    actions.numbers.data());
    gaussian_log_probs(means.numbers.data(), log_std.data(), actions.numbers.data(), count,
                       kTileRows, scaled.numbers.data(), log_probs.data());
    std::vector<float> d_log_std(static_cast<std::size_t>(count));
    gaussian_backward(scaled.numbers.data(), log_std.data(), a.data(), 0.0f, count, kTileRows,
                      d_means.numbers.data(), d_log_std.data());
    for (int r = 0; r < kTileRows; ++r) {
      Random random(9, Purpose::kAction, static_cast<std::uint32_t>(5 + r), 3);
      draw_normals(random, count, got_draws.at(0, r), kTileRows);
      float log_prob = 0.0f;
      for (int i = 0; i < count; ++i) {
        const GaussianDimension one{*means.at(i, r), log_std[static_cast<std::size_t>(i)]};
        *got_actions.at(i, r) = one.sample(*got_draws.at(i, r));
        const float z = one.scaled(*got_actions.at(i, r));
        log_prob = one.add_log_prob(log_prob, z);
        *got_d.at(i, r) = one.d_mean(a[static_cast<std::size_t>(r)], z);
      }
      got_log_probs.push_back(log_prob);
    }
    expect_same(got_draws.numbers, draws.numbers);
    expect_same(got_actions.numbers, actions.numbers);
    expect_same(got_log_probs, log_probs);
    expect_same(got_d.numbers, d_means.numbers);
    float entropy = 0.0f;
    for (const float each : log_std) entropy = GaussianDimension{0.0f, each}.add_entropy(entropy);
    expect_same({entropy}, {gaussian_entropy(log_std.data(), count)});
  }
}

TEST(DistributionFormulas, MatchVectorsForPairs) {
  constexpr int kCount = 3;
  const std::size_t all = std::size_t{kCount} * kTileRows;
  for (const PairShape& shape :
       {PairShape{PairKind::kGaussian, kCount, -1.0, 0.5},
        {PairKind::kSquashed, kCount, -1.0, 0.5},
        {PairKind::kBeta, kCount, -portable::kInfinity, portable::kInfinity}}) {
    std::vector<float> first = normals(all, 2.0, 1), second = normals(all, 1.0, 2);
    const std::vector<float> old_first = normals(all, 2.0, 3), old_second = normals(all, 1.0, 4);
    const std::vector<float> actions = normals(all, 3.0, 5);
    first[7] = std::numeric_limits<float>::quiet_NaN();
    second[70] = 90.0f;
    std::vector<float> log_probs(kTileRows), entropies(kTileRows), terms(4 * all);
    std::vector<double> kl(kTileRows);
    pair_log_probs(shape, first.data(), second.data(), actions.data(), kTileRows, log_probs.data());
    pair_terms(shape, first.data(), second.data(), actions.data(), kTileRows, terms.data(),
               entropies.data());
    pair_kl(shape, old_first.data(), old_second.data(), first.data(), second.data(), kTileRows,
            kl.data());
    std::vector<float> got_log_probs, got_entropies, got_terms(4 * all);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      double log_prob = 0.0, entropy = 0.0, got_kl = 0.0;
      for (std::size_t i = r; i < all; i += kTileRows) {
        const PairDimension one{shape, first[i], second[i]};
        log_prob += one.log_prob(actions[i]);
        got_kl += PairDimension{shape, old_first[i], old_second[i]}.kl(one);
        const PairSlopes slopes = one.slopes(actions[i]);
        entropy += slopes.entropy;
        std::size_t place = i;
        for (const double slope : {slopes.score_first, slopes.score_second, slopes.entropy_first,
                                   slopes.entropy_second}) {
          got_terms[place] = static_cast<float>(slope);
          place += all;
        }
      }
      got_log_probs.push_back(static_cast<float>(log_prob));
      got_entropies.push_back(static_cast<float>(entropy));
      if (has_common_bits(active_isa()) && !std::isnan(kl[r])) {
        EXPECT_EQ(got_kl, kl[r]) << r;
      }
    }
    expect_same(got_log_probs, log_probs);
    expect_same(got_entropies, entropies);
    expect_same(got_terms, terms);
  }
}

TEST(ElementFunctions, StandardiseAsVectorsDo) {
  const std::vector<float> x = all_sorts();
  constexpr std::size_t kPeriod = 48;
  std::vector<double> mean(kPeriod), scale(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    mean[i] = 0.1 * static_cast<double>(i) - 2.0;
    scale[i] = 1.0 / (0.3 + static_cast<double>(i));
  }
  std::vector<float> vectors(x.size()), got;
  standardise(x.data(), x.size(), kPeriod, mean.data(), scale.data(), 1.5f, vectors.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    got.push_back(element::standardise(x[i], mean[i % kPeriod], scale[i % kPeriod], 1.5f));
  }
  expect_same(got, vectors);
}

TEST(AdamFormula, TakesTheVectorsSteps) {
  for (const Optimizer optimizer : {Optimizer::kAdam, Optimizer::kRadam}) {
    std::vector<float> p = normals(100, 1.0), m(100), v(100), q = p, n = m, w = v;
    for (std::int64_t step = 1; step <= 9; ++step) {
      const std::vector<float> grad = normals(100, 0.1, static_cast<std::uint64_t>(step));
      AdamStep adam = optimizer_step(optimizer, 3e-3, 1e-5, step);
      adam.grad_scale = 0.7;
      adam_update(p.data(), m.data(), v.data(), grad.data(), p.size(), adam);
      for (std::size_t i = 0; i < q.size(); ++i) {
        adam_element(AdamFactors(adam), static_cast<float>(adam.grad_scale), grad[i], q[i], n[i],
                     w[i]);
      }
    }
    expect_same(q, p);
    expect_same(n, m);
    expect_same(w, v);
  }
}

}  // namespace
}  // namespace broadloom
