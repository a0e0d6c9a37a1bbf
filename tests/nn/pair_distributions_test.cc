// Distributions with two numbers per dimension: against their definitions, finite differences,
// integrals and SciPy's numbers, in double precision.
#include "broadloom/nn/pair_distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/isa.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

const Space kValve = Space::box({2.0f}, {6.0f});

constexpr double kFree = 1e300;  // no bound of a deviation
constexpr double kHalfLog2Pi = 0.91893853320467274178;

std::size_t pair_place(int i, int r) { return static_cast<std::size_t>(i) * kTileRows + r; }

// Two dimensions in a few rows.
template <class Real>
struct PairTile {
  explicit PairTile(PairKind kind, double low = -kFree, double high = kFree)
      : shape{kind, 2, low, high},
        first(2 * kTileRows),
        second(first.size()),
        actions(first.size()),
        log_probs(kTileRows),
        entropies(kTileRows),
        terms(4 * first.size()) {
    Random random(3, Purpose::kUser, static_cast<std::uint32_t>(kind), 0);
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = static_cast<Real>(1.5 * random.normal());
      second[i] =
          static_cast<Real>(kind == PairKind::kBeta ? 3.0 * random.normal()
                                                    : std::min(0.4, 0.3 * random.normal() - 0.5));
      actions[i] = static_cast<Real>(2.0 * random.normal());
    }
  }
  void run() {
    pair_log_probs(shape, first.data(), second.data(), actions.data(), kRows, log_probs.data());
    pair_terms(shape, first.data(), second.data(), actions.data(), kRows, terms.data(),
               entropies.data());
  }
  static constexpr int kRows = 21;
  PairShape shape;
  std::vector<Real> first, second, actions, log_probs, entropies, terms;
};

// The plain form of one number.
double softplus(double x) { return std::log1p(std::exp(x)); }
double log_density(PairKind kind, double first, double second, double x) {
  if (kind == PairKind::kBeta) {
    const double alpha = 1.0 + softplus(first), beta = 1.0 + softplus(second);
    const double b = 1.0 / (1.0 + std::exp(-x)), rest = 1.0 / (1.0 + std::exp(x));
    return (alpha - 1.0) * std::log(b) + (beta - 1.0) * std::log(rest) + std::lgamma(alpha + beta) -
           std::lgamma(alpha) - std::lgamma(beta) - std::log(2.0);
  }
  const double z = (x - first) / std::exp(second);
  const double plain = -0.5 * z * z - second - kHalfLog2Pi;
  if (kind == PairKind::kGaussian) return plain;
  return plain - 2.0 * std::log(1.0 / std::cosh(x));
}

// -E[log p] and KL, by integrals over x in small steps.
struct Integrals {
  Integrals(PairKind kind, double first, double second, double other_first, double other_second) {
    const double step = 0.002;
    for (double x = -60.0; x < 60.0; x += step) {
      const double log_p = log_density(kind, first, second, x);
      // The density of x from that of the action: times d action / d x.
      double slope = 1.0;
      if (kind == PairKind::kSquashed) slope = 1.0 / (std::cosh(x) * std::cosh(x));
      if (kind == PairKind::kBeta) slope = 0.5 / (std::cosh(0.5 * x) * std::cosh(0.5 * x));
      const double weight = step * std::exp(log_p) * slope;
      if (weight == 0.0) continue;
      whole += weight;
      entropy -= weight * log_p;
      kl += weight * (log_p - log_density(kind, other_first, other_second, x));
    }
  }
  double whole = 0.0, entropy = 0.0, kl = 0.0;
};

const PairKind kKinds[] = {PairKind::kGaussian, PairKind::kSquashed, PairKind::kBeta};

class Pairs : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(set_isa(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
};

TEST_P(Pairs, LogProbabilitiesAreThoseOfTheDefinition) {
  for (const PairKind kind : kKinds) {
    PairTile<double> tile(kind);
    PairTile<float> narrow(kind);
    tile.run();
    narrow.run();
    for (int r = 0; r < tile.kRows; ++r) {
      double expected = 0.0;
      for (int i = 0; i < 2; ++i) {
        const std::size_t number = pair_place(i, r);
        expected +=
            log_density(kind, tile.first[number], tile.second[number], tile.actions[number]);
      }
      EXPECT_NEAR(tile.log_probs[r], expected, 1e-11 * (1.0 + std::abs(expected)));
      EXPECT_NEAR(narrow.log_probs[r], expected, 1e-5 * (1.0 + std::abs(expected)));
    }
  }
}

// The two numbers, x, and SciPy's log-density, entropy and KL from the pair (0, 0); printed by
// make_reference_densities.py.
struct Reference {
  PairKind kind;
  double first, second, x, log_prob, entropy, kl;
};
constexpr Reference kReferences[] = {
    {PairKind::kSquashed, 0.3, -0.7, 0.9, -0.22921366730445647, 0.4220633052368353,
     0.36829848197080317},
    {PairKind::kSquashed, -1.2, -0.2, -0.4, -1.0404154656742144, -0.2143997098663959,
     0.7551600230178195},
    {PairKind::kSquashed, 2.0, -1.0, 1.5, 0.8683097964565907, -2.241837582647765,
     2.567667641618306},
    {PairKind::kSquashed, 0.0, 0.1, -2.0, -0.006394544644906741, 0.6398705211578397,
     0.010701379080084922},
    {PairKind::kBeta, 0.3, -0.7, 0.9, -0.3672266742069028, 0.6040310974893385, 0.04608744389176564},
    {PairKind::kBeta, -1.2, -0.2, -0.4, -0.45723833507849077, 0.6377324531102011,
     0.044983869194278214},
    {PairKind::kBeta, 2.0, -1.0, 1.5, 0.013503418974360915, 0.35921755444729164,
     0.39978101549310274},
    {PairKind::kBeta, 0.0, 0.1, -2.0, -0.9461887212769672, 0.6114970297902417,
     0.0005751030664377446},
};

TEST_P(Pairs, EqualSciPy) {
  for (const Reference& expected : kReferences) {
    PairTile<double> tile(expected.kind);
    const std::vector<double> zeros(tile.first.size(), 0.0);
    std::vector<double> kl(kTileRows);
    tile.shape.count = 1;
    tile.first[0] = expected.first;
    tile.second[0] = expected.second;
    tile.actions[0] = expected.x;
    tile.run();
    pair_kl(tile.shape, tile.first.data(), tile.second.data(), zeros.data(), zeros.data(), 1,
            kl.data());
    EXPECT_NEAR(tile.log_probs[0], expected.log_prob, 1e-12);
    EXPECT_NEAR(tile.entropies[0], expected.entropy,
                expected.kind == PairKind::kSquashed ? 5e-5 : 1e-12);
    EXPECT_NEAR(kl[0], expected.kl, 1e-12);
  }
}

TEST_P(Pairs, TermsEqualFiniteDifferences) {
  for (const PairKind kind : kKinds) {
    PairTile<double> tile(kind);
    tile.run();
    constexpr double h = 1e-4;
    for (int i = 0; i < 2; ++i) {
      for (int number = 0; number < 2; ++number) {
        std::vector<double> log_probs[4], entropies[4];
        const double steps[] = {h, -h, 2 * h, -2 * h};
        for (int s = 0; s < 4; ++s) {
          PairTile<double> moved(kind);
          for (int r = 0; r < tile.kRows; ++r) {
            (number == 0 ? moved.first : moved.second)[pair_place(i, r)] += steps[s];
          }
          moved.run();
          log_probs[s] = moved.log_probs;
          entropies[s] = moved.entropies;
        }
        for (int r = 0; r < tile.kRows; ++r) {
          const auto slope = [&](const std::vector<double>* f) {
            const std::size_t row = static_cast<std::size_t>(r);
            return (8.0 * (f[0][row] - f[1][row]) - (f[2][row] - f[3][row])) / (12.0 * h);
          };
          const double score = tile.terms[pair_place(2 * number + i, r)];
          const double bonus = tile.terms[pair_place(4 + 2 * number + i, r)];
          EXPECT_NEAR(score, slope(log_probs), 1e-8 * (1.0 + std::abs(score)));
          EXPECT_NEAR(bonus, slope(entropies), 1e-8 * (1.0 + std::abs(bonus)));
        }
      }
    }
  }
}

// A deviation beyond a bound acts as the bound, and has no gradient.
TEST_P(Pairs, DeviationsStayWithinBounds) {
  PairTile<double> tile(PairKind::kGaussian, -0.6, -0.4), clipped(PairKind::kGaussian);
  for (double& number : clipped.second) number = std::clamp(number, -0.6, -0.4);
  tile.run();
  clipped.run();
  EXPECT_EQ(tile.log_probs, clipped.log_probs);
  EXPECT_EQ(tile.entropies, clipped.entropies);
  for (int r = 0; r < tile.kRows; ++r) {
    const bool learns = tile.second[pair_place(0, r)] == clipped.second[pair_place(0, r)];
    EXPECT_EQ(tile.terms[pair_place(2, r)], learns ? clipped.terms[pair_place(2, r)] : 0.0);
    EXPECT_EQ(tile.terms[pair_place(6, r)], learns ? 1.0 : 0.0);
  }
}

TEST_P(Pairs, EntropiesAndDivergencesAreIntegrals) {
  for (const PairKind kind : kKinds) {
    PairTile<double> tile(kind);
    const std::vector<double> zeros(tile.first.size(), 0.0);
    tile.shape.count = 1;
    std::vector<double> kl(kTileRows);
    tile.run();
    pair_kl(tile.shape, tile.first.data(), tile.second.data(), zeros.data(), zeros.data(),
            tile.kRows, kl.data());
    for (int r = 0; r < 6; ++r) {
      const Integrals exact(kind, tile.first[pair_place(0, r)], tile.second[pair_place(0, r)], 0.0,
                            0.0);
      EXPECT_NEAR(exact.whole, 1.0, 1e-8);
      // A squashed Gaussian's is by quadrature. Deviations are below 1.5 here.
      ASSERT_TRUE(kind == PairKind::kBeta || tile.second[pair_place(0, r)] < std::log(1.5));
      const double allowed = kind == PairKind::kSquashed ? 5e-4 : 1e-7;
      EXPECT_NEAR(tile.entropies[r], exact.entropy, allowed) << static_cast<int>(kind);
      EXPECT_NEAR(kl[r], exact.kl, 1e-6 * (1.0 + exact.kl)) << static_cast<int>(kind);
    }
    pair_kl(tile.shape, tile.first.data(), tile.second.data(), tile.first.data(),
            tile.second.data(), tile.kRows, kl.data());
    for (int r = 0; r < tile.kRows; ++r) EXPECT_EQ(kl[r], 0.0);
  }
}

// Far in the tails nothing is infinite, and NaN does not vanish.
TEST_P(Pairs, ExtremeNumbersStayFinite) {
  for (const PairKind kind : kKinds) {
    PairTile<float> tile(kind);
    const float numbers[] = {-80.0f, -30.0f, 30.0f, 80.0f};
    for (int r = 0; r < tile.kRows; ++r) {
      for (int i = 0; i < 2; ++i) {
        tile.first[pair_place(i, r)] = numbers[r % 4];
        tile.second[pair_place(i, r)] = kind == PairKind::kBeta ? numbers[r / 4 % 4] : 0.1f;
        tile.actions[pair_place(i, r)] = numbers[(r + i) % 4];
      }
    }
    tile.run();
    for (int r = 0; r < tile.kRows; ++r) {
      EXPECT_TRUE(std::isfinite(tile.log_probs[r]));
      EXPECT_TRUE(std::isfinite(tile.entropies[r]));
      for (int i = 0; i < 8; ++i) EXPECT_TRUE(std::isfinite(tile.terms[pair_place(i, r)]));
    }
    tile.first[pair_place(1, 3)] = std::nanf("");
    tile.run();
    EXPECT_TRUE(std::isnan(tile.log_probs[3]));
    if (kind != PairKind::kGaussian) EXPECT_TRUE(std::isnan(tile.entropies[3]));
    EXPECT_FALSE(std::isnan(tile.log_probs[2]));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Pairs, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return info.param; });

struct Drawn {
  explicit Drawn(const NetworkShape& network, float one, float two, int rows = kTileRows)
      : outputs(2 * kTileRows, two),
        draws(kTileRows),
        terms(kTileRows),
        actions(kTileRows),
        log_probs(kTileRows) {
    std::fill_n(outputs.begin(), kTileRows, one);
    const PolicyDistribution policy(network);
    const float log_std = two;
    for (std::uint64_t step = 0; step < 400; ++step) {
      policy.sample(outputs.data(), &log_std, {5, Purpose::kUser, 7, step, rows}, draws.data(),
                    terms.data(), actions.data(), log_probs.data());
      for (int r = 0; r < rows; ++r) all.push_back(policy.played(0, actions[r], kValve));
    }
  }
  std::vector<float> outputs, draws, terms, actions, log_probs, all;
};

NetworkShape box_shape(ActionDistribution distribution, StdForm form) {
  NetworkShape shape;
  shape.action_kind = SpaceKind::kBox;
  shape.action_distribution = distribution;
  shape.std_form = form;
  shape.action_outputs = shape.has_pairs() ? 2 : 1;
  return shape;
}

// The largest distance of the draws' distribution from the density's, which is summed in steps.
double distance_of(std::vector<float> drawn, PairKind kind, double one, double two) {
  std::sort(drawn.begin(), drawn.end());
  double below = 0.0, worst = 0.0;
  const double step = 0.0005;
  std::size_t seen = 0;
  for (double x = -15.0; x < 15.0; x += step) {
    const bool is_beta = kind == PairKind::kBeta;
    const double unit = std::tanh((is_beta ? 0.5 : 1.0) * (x + 0.5 * step));
    const double slope = (1.0 - unit * unit) * (is_beta ? 0.5 : 1.0);
    below += step * std::exp(log_density(kind, one, two, x + 0.5 * step)) * slope;
    const double action = 4.0 + 2.0 * std::tanh((is_beta ? 0.5 : 1.0) * (x + step));
    while (seen < drawn.size() && drawn[seen] <= action) ++seen;
    worst = std::max(worst, std::abs(below - static_cast<double>(seen) / drawn.size()));
  }
  return worst;
}

// 25,600 draws each. A distance of 1.63 / sqrt(25,600) = .0102 or more comes by chance once in 100
// times (Kolmogorov); the seed is fixed.
TEST(PairDraws, FollowTheDensity) {
  for (const auto& [one, two] : {std::pair{0.4f, -0.3f}, {-1.0f, 0.2f}, {0.0f, 0.0f}}) {
    const Drawn squashed(box_shape(ActionDistribution::kSquashed, StdForm::kLog), one, two);
    EXPECT_LT(distance_of(squashed.all, PairKind::kSquashed, one, two), 0.0102);
    const Drawn beta(box_shape(ActionDistribution::kBeta, StdForm::kLog), 4.0f * one, 4.0f * two);
    EXPECT_LT(distance_of(beta.all, PairKind::kBeta, 4.0 * one, 4.0 * two), 0.0102);
  }
}

TEST(PairDraws, OfARowDependOnItsStreamAlone) {
  for (const ActionDistribution distribution :
       {ActionDistribution::kGaussian, ActionDistribution::kSquashed, ActionDistribution::kBeta}) {
    const NetworkShape shape = box_shape(distribution, StdForm::kStateDependent);
    const Drawn all(shape, 0.7f, -0.2f), few(shape, 0.7f, -0.2f, 3);
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(few.all[few.all.size() - 3 + r], all.all[all.all.size() - kTileRows + r]);
    }
  }
}

TEST(PairDraws, PlayTheMean) {
  std::vector<float> outputs(2 * kTileRows), best(2 * kTileRows);
  outputs[0] = 0.8f;
  outputs[kTileRows] = -1.1f;
  const NetworkShape squashed = box_shape(ActionDistribution::kSquashed, StdForm::kStateDependent);
  PolicyDistribution(squashed).best(outputs.data(), 1, best.data());
  EXPECT_NEAR(PolicyDistribution(squashed).played(0, best[0], kValve), 4.0 + 2.0 * std::tanh(0.8),
              1e-6);
  const NetworkShape beta = box_shape(ActionDistribution::kBeta, StdForm::kLog);
  PolicyDistribution(beta).best(outputs.data(), 1, best.data());
  const double one = 1.0 + softplus(0.8), two = 1.0 + softplus(-1.1);
  EXPECT_NEAR(PolicyDistribution(beta).played(0, best[0], kValve), 2.0 + 4.0 * one / (one + two),
              1e-6);
}

}  // namespace
}  // namespace broadloom
