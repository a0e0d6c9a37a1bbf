// A policy of choices and numbers against its parts alone: a policy of the choices, and one of the
// numbers. Log-probabilities and entropies are sums of theirs, and derivatives are theirs.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom::hybrid_policy_tests {
namespace {

constexpr int kRows = 37;
const std::vector<int> kHeads{3, 1, 4};
constexpr int kLogits = 8, kNumbers = 2;

struct Form {
  std::string name;
  ActionDistribution distribution;
  StdForm std_form;
};

NetworkShape shape_of(const Form& form, SpaceKind kind) {
  NetworkShape shape;
  shape.action_kind = kind;
  shape.action_distribution = form.distribution;
  shape.std_form = form.std_form;
  if (shape.has_choices()) shape.action_heads = kHeads;
  const bool has_pairs = shape.has_pairs();
  shape.action_outputs =
      (shape.has_choices() ? kLogits : 0) + (shape.has_box() ? (has_pairs ? 2 : 1) * kNumbers : 0);
  return shape;
}

template <class Real>
std::vector<Real> normals(std::size_t rows, std::uint64_t index) {
  Random random(5, Purpose::kUser, 0, index);
  std::vector<Real> values(rows * kTileRows);
  for (Real& value : values) value = static_cast<Real>(random.normal());
  return values;
}

// One policy on a tile: all that PolicyDistribution computes of it.
template <class Real>
struct Tile {
  Tile(const NetworkShape& own, std::vector<Real> of_network, std::vector<Real> taken)
      : shape(own), outputs(std::move(of_network)), actions(std::move(taken)) {
    const PolicyDistribution policy(shape);
    const PolicyRows<Real> rows{outputs.data(), log_std.data(),     actions.data(),           kRows,
                                terms.data(),   normalisers.data(), entropies_of_heads.data()};
    policy.log_probs(rows, log_probs.data());
    policy.entropies(rows, entropies.data());
    const std::vector<Real> a = normals<Real>(1, 7);
    policy.backward(rows, a.data(), Real(0.3), d_outputs.data(), d_log_std.data());
  }

  NetworkShape shape;
  std::vector<Real> outputs, actions;
  std::vector<Real> log_std{Real(0.2), Real(-0.4)}, d_log_std = std::vector<Real>(kNumbers);
  std::vector<Real> terms =
      std::vector<Real>(static_cast<std::size_t>(PolicyDistribution::term_rows(shape)) * kTileRows);
  std::vector<Real> normalisers = std::vector<Real>(actions.size()),
                    entropies_of_heads = normalisers;
  std::vector<Real> d_outputs = std::vector<Real>(outputs.size());
  std::vector<Real> log_probs = std::vector<Real>(kTileRows), entropies = log_probs;
};

template <class Real>
std::vector<Real> part(const std::vector<Real>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * kTileRows);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * kTileRows)};
}

// A block's columns past kRows hold anything.
template <class Real>
void expect_rows(const std::vector<Real>& got, const std::vector<Real>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i % kTileRows < kRows) {
      ASSERT_EQ(got[i], expected[i]) << i;
    }
  }
}

class HybridPolicy : public ::testing::TestWithParam<Form> {
 protected:
  template <class Real>
  static void expect_sums_of_parts() {
    const NetworkShape whole = shape_of(GetParam(), SpaceKind::kHybrid);
    const auto outputs = static_cast<std::size_t>(whole.action_outputs);
    const std::vector<Real> all = normals<Real>(outputs, 0);
    std::vector<Real> actions = normals<Real>(kHeads.size() + kNumbers, 1);
    Random random(6, Purpose::kUser, 0, 0);
    for (std::size_t i = 0; i < kHeads.size() * kTileRows; ++i) {
      actions[i] = static_cast<Real>(random.below(static_cast<unsigned>(kHeads[i / kTileRows])));
    }
    const Tile<Real> hybrid(whole, all, actions);
    const Tile<Real> choices(shape_of(GetParam(), SpaceKind::kMultiDiscrete), part(all, 0, kLogits),
                             part(actions, 0, kHeads.size()));
    const Tile<Real> numbers(shape_of(GetParam(), SpaceKind::kBox),
                             part(all, kLogits, outputs - kLogits),
                             part(actions, kHeads.size(), kNumbers));
    for (std::size_t r = 0; r < kRows; ++r) {
      ASSERT_EQ(hybrid.log_probs[r], choices.log_probs[r] + numbers.log_probs[r]);
      ASSERT_EQ(hybrid.entropies[r], choices.entropies[r] + numbers.entropies[r]);
    }
    expect_rows(part(hybrid.d_outputs, 0, kLogits), choices.d_outputs);
    expect_rows(part(hybrid.d_outputs, kLogits, outputs - kLogits), numbers.d_outputs);
    EXPECT_EQ(hybrid.d_log_std, numbers.d_log_std);
  }
};

TEST_P(HybridPolicy, IsTheSumOfItsParts) {
  expect_sums_of_parts<float>();
  expect_sums_of_parts<double>();
}

// Log-probabilities of drawn actions have the bits of the functions above. The choices are those of
// a policy of choices alone, and the numbers come from a stream of their own.
TEST_P(HybridPolicy, DrawsBothParts) {
  const NetworkShape whole = shape_of(GetParam(), SpaceKind::kHybrid);
  const NetworkShape choices = shape_of(GetParam(), SpaceKind::kMultiDiscrete);
  const std::vector<float> all = normals<float>(static_cast<std::size_t>(whole.action_outputs), 0);
  const std::vector<float> log_std{0.2f, -0.4f};
  const std::size_t size = (kHeads.size() + kNumbers) * kTileRows;
  std::vector<float> draws(size), terms(size), actions(size), log_probs(kTileRows);
  const RandomRows streams{3, Purpose::kUser, 8, 21, kRows};
  PolicyDistribution(whole).sample(all.data(), log_std.data(), streams, draws.data(), terms.data(),
                                   actions.data(), log_probs.data());
  const Tile<float> tile(whole, all, actions);
  for (std::size_t r = 0; r < kRows; ++r) EXPECT_EQ(log_probs[r], tile.log_probs[r]) << r;
  std::vector<float> alone(size);
  PolicyDistribution(choices).sample(all.data(), nullptr, streams, draws.data(), terms.data(),
                                     alone.data(), log_probs.data());
  expect_rows(part(actions, 0, kHeads.size()), part(alone, 0, kHeads.size()));
  if (GetParam().std_form != StdForm::kLog || GetParam().distribution == ActionDistribution::kBeta)
    return;
  RandomRows numbers = streams;
  numbers.index += std::uint64_t{1} << 55;
  random_normals(numbers, kNumbers, draws.data(), kTileRows);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    for (std::size_t r = 0; r < kRows; ++r) {
      const double normal = draws[i * kTileRows + r];
      const double expected = all[(kLogits + i) * kTileRows + r] + std::exp(log_std[i]) * normal;
      EXPECT_NEAR(actions[(kHeads.size() + i) * kTileRows + r], expected, 1e-5);
    }
  }
}

// Best actions: each head's largest logit, and what the Box plays alone.
TEST_P(HybridPolicy, PlaysTheBestOfBothParts) {
  const NetworkShape whole = shape_of(GetParam(), SpaceKind::kHybrid);
  const NetworkShape box = shape_of(GetParam(), SpaceKind::kBox);
  const std::vector<float> all = normals<float>(static_cast<std::size_t>(whole.action_outputs), 0);
  std::vector<float> actions((kHeads.size() + kNumbers) * kTileRows), alone(kNumbers * kTileRows);
  PolicyDistribution(whole).best(all.data(), kRows, actions.data());
  PolicyDistribution(box).best(&all[kLogits * kTileRows], kRows, alone.data());
  expect_rows(part(actions, kHeads.size(), kNumbers), alone);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::size_t first = 0, head = 0;
    for (const int count : kHeads) {
      const auto best = static_cast<std::size_t>(actions[head * kTileRows + r]);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        EXPECT_LE(all[(first + i) * kTileRows + r], all[(first + best) * kTileRows + r]);
      }
      first += static_cast<std::size_t>(count);
      ++head;
    }
  }
  const Space space = Space::hybrid(kHeads, {-0.5f, 1.0f}, {0.5f, 9.0f});
  const PolicyDistribution policy(whole);
  EXPECT_EQ(policy.played(2, 3.0f, space), 3.0f) << "a choice is played as it is";
  EXPECT_GE(policy.played(4, -7.0f, space), 1.0f) << "a number within its bounds";
}

INSTANTIATE_TEST_SUITE_P(
    Forms, HybridPolicy,
    ::testing::Values(Form{"gaussian", ActionDistribution::kGaussian, StdForm::kLog},
                      Form{"state_dependent", ActionDistribution::kGaussian,
                           StdForm::kStateDependent},
                      Form{"squashed", ActionDistribution::kSquashed, StdForm::kLog},
                      Form{"beta", ActionDistribution::kBeta, StdForm::kLog}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace broadloom::hybrid_policy_tests
