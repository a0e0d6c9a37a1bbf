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
