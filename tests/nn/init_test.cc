#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

double initial_norm(int observation_size, SpaceKind kind, int outputs, std::uint64_t seed) {
  NetworkShape shape;
  shape.observation_size = observation_size;
  shape.action_kind = kind;
  shape.action_outputs = outputs;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  network.initialise(seed, params.data());
  double squares = 0.0;
  for (const float p : params) squares += static_cast<double>(p) * p;
  return std::sqrt(squares);
}

// |W|_F = gain sqrt(min(in, out)), so the norm of two 64-64 networks is known in closed form:
// 2 * (2 min(D, 64) + 2 * 64) + 1e-4 min(64, A) + 1.
double expected_norm(int observation_size, int outputs) {
  return std::sqrt(2.0 * (2.0 * std::min(observation_size, 64) + 128.0) + 1e-4 * outputs + 1.0);
}

TEST(Init, WeightNormsAreTheOrthogonalOnes) {
  for (const std::uint64_t seed : {1u, 2u, 77u}) {
    EXPECT_NEAR(initial_norm(4, SpaceKind::kDiscrete, 2, seed), expected_norm(4, 2), 1e-6);
    EXPECT_NEAR(initial_norm(3, SpaceKind::kBox, 1, seed), expected_norm(3, 1), 1e-6);
    EXPECT_NEAR(initial_norm(64, SpaceKind::kDiscrete, 4, seed), expected_norm(64, 4), 1e-6);
  }
  // The published values, to the digits that they are given with.
  EXPECT_NEAR(expected_norm(4, 2), 16.52, 5e-3);   // CartPole
  EXPECT_NEAR(expected_norm(3, 1), 16.40, 5e-3);   // Pendulum
  EXPECT_NEAR(expected_norm(64, 4), 22.65, 5e-3);  // FrozenLake 8x8, one-hot
}

// Variance scale / in, within two deviations of what is cut, and no bias.
TEST(Init, TruncatedNormalNumbersHaveTheirVariance) {
  ParameterLayout layout;
  const LinearSlice layer = layout.add_linear(300, 200);
  for (const double scale : {1.0, 2.0}) {
    std::vector<float> params(layout.size(), 3.0f);
    init_truncated_normal(layer, scale, 5, 2, params.data());
    const double limit = 2.0 / 0.87962566 * std::sqrt(scale / 300.0);
    double sum = 0.0, squares = 0.0, largest = 0.0;
    for (std::size_t i = 0; i < 300u * 200u; ++i) {
      const double x = params[layer.weight + i];
      sum += x;
      squares += x * x;
      largest = std::max(largest, std::abs(x));
    }
    // Six deviations of a mean of 60,000 numbers; of their squares, which vary less than a
    // normal's.
    EXPECT_LT(std::abs(sum), 6.0 * std::sqrt(60000.0 * scale / 300.0));
    EXPECT_NEAR(squares / 60000.0 * 300.0 / scale, 1.0, 6.0 * std::sqrt(2.0 / 60000.0));
    EXPECT_LT(largest, limit * (1.0 + 1e-6));
    EXPECT_GT(largest, 0.99 * limit);
    for (int o = 0; o < 200; ++o) EXPECT_EQ(params[layer.bias + static_cast<std::size_t>(o)], 0.0f);
  }
}

TEST(Init, HeadsOfPoliciesStaySmallAndActionValuesDoNot) {
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_outputs = 3;
  for (const bool values : {false, true}) {
    shape.action_values = values;
    shape.weight_init = WeightInit::kOrthogonal;
    const ActorCritic plain(shape);
    shape.weight_init = WeightInit::kHeNormal;
    const ActorCritic he(shape);
    std::vector<float> before(plain.parameter_count()), after(he.parameter_count());
    plain.initialise(1, before.data());
    he.initialise(1, after.data());
    const std::size_t head = he.policy_head().weight;
    EXPECT_NE(before[0], after[0]);
    EXPECT_EQ(before[head] == after[head], !values);
  }
}

TEST(Init, MatricesAreOrthogonal) {
  ParameterLayout layout;
  const LinearSlice wide = layout.add_linear(5, 17);
  const LinearSlice tall = layout.add_linear(40, 9);
  std::vector<float> params(layout.size(), 3.0f);
  init_orthogonal(wide, 2.0, 1, 0, params.data());
  init_orthogonal(tall, 0.5, 1, 1, params.data());
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      double product = 0.0;
      for (int o = 0; o < 17; ++o) {
        product += static_cast<double>(params[wide.weight + a * 17 + o]) *
                   params[wide.weight + b * 17 + o];
      }
      EXPECT_NEAR(product, a == b ? 4.0 : 0.0, 1e-6);
    }
  }
  for (int a = 0; a < 9; ++a) {
    for (int b = 0; b < 9; ++b) {
      double product = 0.0;
      for (int i = 0; i < 40; ++i) {
        product +=
            static_cast<double>(params[tall.weight + i * 9 + a]) * params[tall.weight + i * 9 + b];
      }
      EXPECT_NEAR(product, a == b ? 0.25 : 0.0, 1e-6);
    }
  }
  for (int o = 0; o < 17; ++o) EXPECT_EQ(params[wide.bias + o], 0.0f);
}

}  // namespace
}  // namespace broadloom
