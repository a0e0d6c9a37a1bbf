// gSDE beside Stable-Baselines3's, beside its formulas in long form, and in its gradients.
#include "broadloom/nn/state_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/policy_distribution.h"
#include "broadloom/rollout/kept_noise.h"
#include "tests/support/folders.h"

namespace broadloom::state_noise_tests {
namespace {

NetworkShape shape_of(int observation, int count, std::vector<int> hidden) {
  NetworkShape shape;
  shape.observation_size = observation;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2 * count;
  shape.hidden_sizes = std::move(hidden);
  shape.std_form = StdForm::kSde;
  return shape;
}

template <class Real>
std::vector<Real> normals(std::size_t size, std::uint32_t lane) {
  Random random(3, Purpose::kUser, lane, 0);
  std::vector<Real> out(size);
  for (Real& number : out) number = static_cast<Real>(0.7 * random.normal());
  return out;
}

// One tile: a policy's log-probabilities, entropies, and the gradient of the sum over rows of
// weights[r] log_prob[r] + entropy_weight entropy[r].
template <class Real>
struct Played {
  Played(const NetworkShape& shape, const std::vector<Real>& params, const std::vector<Real>& seen,
         const std::vector<Real>& taken, const std::vector<Real>& weights, Real entropy_weight)
      : network(shape), work(network.make_workspace<Real>()), grads(network.parameter_count()) {
    const int rows = static_cast<int>(weights.size());
    network.forward(params.data(), seen.data(), rows, work);
    const auto count = static_cast<std::size_t>(shape.action_size());
    std::vector<Real> actions(count * kTileRows), a(kTileRows);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      actions[i % count * kTileRows + i / count] = taken[i];
    }
    std::copy(weights.begin(), weights.end(), a.begin());
    std::vector<Real> terms(static_cast<std::size_t>(PolicyDistribution::term_rows(shape)) *
                            kTileRows);
    const PolicyDistribution policy(network.shape());
    const PolicyRows<Real> tile{work.policy.data(),
                                work.log_std.data(),
                                actions.data(),
                                rows,
                                terms.data(),
                                nullptr,
                                nullptr};
    policy.log_probs(tile, log_probs.data());
    policy.entropies(tile, entropies.data());
    policy.backward(tile, a.data(), entropy_weight, work.policy_delta.data(),
                    work.log_std_delta.data());
    std::vector<Real> transposed(params.size());
    network.refresh_transposed(params.data(), transposed.data());
    std::fill(work.values_delta.begin(), work.values_delta.end(), Real(0));
    network.backward(params.data(), transposed.data(), seen.data(), rows, work, grads.data());
  }

  Real log_std(int i, int r) const {
    return work
        .policy[static_cast<std::size_t>((network.shape().head_outputs() + i) * kTileRows + r)];
  }

  ActorCritic network;
  TileWorkspace<Real> work;
  std::vector<Real> grads, log_probs = std::vector<Real>(kTileRows), entropies = log_probs;
};

template <class Real>
void expect_theirs(const nlohmann::json& golden, double tolerance) {
  const auto array = [&](const char* name) { return golden[name].get<std::vector<Real>>(); };
  const NetworkShape shape = shape_of(golden["width"], golden["count"], {});
  const ActorCritic network(shape);
  std::vector<Real> params(network.parameter_count());
  const std::vector<Real> weight = array("weight"), bias = array("bias"), s = array("log_std");
  std::copy(weight.begin(), weight.end(), &params[network.policy_head().weight]);
  std::copy(bias.begin(), bias.end(), &params[network.policy_head().bias]);
  std::copy(s.begin(), s.end(), &params[network.log_std_offset()]);
  const Played<Real> played(shape, params, array("features"), array("actions"),
                            array("row_weights"), golden["entropy"].get<Real>());
  const auto near = [&](const char* name, const Real* got) {
    for (std::size_t i = 0; i < golden[name].size(); ++i) {
      const double expected = golden[name][i];
      EXPECT_NEAR(got[i], expected, tolerance * std::max(1.0, std::abs(expected))) << name << i;
    }
  };
  near("log_probs", played.log_probs.data());
  near("entropies", played.entropies.data());
  near("d_weight", &played.grads[network.policy_head().weight]);
  near("d_bias", &played.grads[network.policy_head().bias]);
  near("d_log_std", &played.grads[network.log_std_offset()]);
}

// golden_sde.json is by make_golden_sde.py.
TEST(StateNoise, EqualsStableBaselines3) {
  std::ifstream file(source_folder() + "/tests/nn/golden_sde.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  expect_theirs<double>(golden, 1e-12);
  expect_theirs<float>(golden, 1e-5);
}

class StateNoiseGradient : public ::testing::Test {
 protected:
  static constexpr int kRows = 6, kSeen = 5, kCount = 2;
  NetworkShape shape = shape_of(kSeen, kCount, {7, 4});
  ActorCritic network{shape};
  std::vector<double> params = normals<double>(network.parameter_count(), 1),
                      seen = normals<double>(kRows * kSeen, 2),
                      actions = normals<double>(kRows * kCount, 3),
                      weights = normals<double>(kRows, 4);

  double objective(const std::vector<double>& moved) const {
    const Played<double> played(shape, moved, seen, actions, weights, 0.3);
    double sum = 0.0;
    for (std::size_t r = 0; r < kRows; ++r) {
      sum += weights[r] * played.log_probs[r] + 0.3 * played.entropies[r];
    }
    return sum;
  }
};

// For the head and the noise: features are the same for both sides of a difference.
TEST_F(StateNoiseGradient, EqualsFiniteDifferences) {
  const Played<double> played(shape, params, seen, actions, weights, 0.3);
  double largest = 0.0;
  for (const double g : played.grads) largest = std::max(largest, std::abs(g));
  for (std::size_t i = network.policy_head().weight; i < params.size(); ++i) {
    const auto shifted = [&](double offset) {
      std::vector<double> moved = params;
      moved[i] += offset;
      return objective(moved);
    };
    constexpr double h = 2e-5;
    const double numeric =
        (8.0 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) / (12.0 * h);
    ASSERT_NEAR(played.grads[i], numeric, 1e-6 * largest) << i;
  }
}

// Features get no derivative of the deviations: row by row, the gradient is that of a policy whose
// deviations are constants.
TEST_F(StateNoiseGradient, LeavesFeaturesAlone) {
  NetworkShape plain = shape;
  plain.std_form = StdForm::kStateDependent;
  const ActorCritic other(plain);
  const LinearSlice head = network.policy_head(), other_head = other.policy_head();
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::vector<double> row(&seen[r * kSeen], &seen[r * kSeen] + kSeen),
        action(&actions[r * kCount], &actions[r * kCount] + kCount);
    const Played<double> played(shape, params, row, action, {weights[r]}, 0.3);
    std::vector<double> same(other.parameter_count());
    std::copy_n(params.begin(), head.weight + static_cast<std::size_t>(head.in * kCount),
                same.begin());
    for (int i = 0; i < kCount; ++i) {
      same[other_head.bias + static_cast<std::size_t>(i)] =
          params[head.bias + static_cast<std::size_t>(i)];
      same[other_head.bias + static_cast<std::size_t>(kCount + i)] = played.log_std(i, 0);
    }
    const Played<double> constant(plain, same, row, action, {weights[r]}, 0.3);
    EXPECT_EQ(played.log_probs[0], constant.log_probs[0]);
    for (std::size_t p = 0; p < head.weight; ++p) {
      ASSERT_NEAR(played.grads[p], constant.grads[p], 1e-12) << p;
    }
  }
}

// Matrices have the deviations of the parameters, are kept between draws, and differ by row.
TEST(StateNoise, DrawsAndKeepsMatrices) {
  NetworkShape shape = shape_of(3, 2, {});
  shape.sde_sample_freq = 4;
  const ActorCritic network(shape);
  std::vector<float> params(network.parameter_count());
  std::vector<double> squares(6);
  const std::vector<float> s{-1.0f, 0.0f, 0.5f, -2.0f, 1.0f, 0.3f};
  std::copy(s.begin(), s.end(), &params[network.log_std_offset()]);
  constexpr int kRows = 40;
  const std::vector<float> seen = normals<float>(kRows * 3, 5);
  TileWorkspace<float> work = network.make_workspace<float>();
  network.forward(params.data(), seen.data(), kRows, work);
  KeptNoise noise(network, kRows);
  std::vector<float> first, now;
  for (int t = 0; t < 400; ++t) {
    const RandomRows streams{9, Purpose::kUser, 0, static_cast<std::uint64_t>(t), kRows};
    const DrawnNoise drawn = noise.at(t, streams, 0, network.noise_rows(work, kRows));
    now.assign(drawn.matrices, drawn.matrices + kRows * 6);
    EXPECT_EQ(t % 4 != 0, now == first) << t;
    first = now;
    for (std::size_t i = 0; i < now.size(); ++i) squares[i % 6] += now[i] * now[i];
    // The noise of an action is the product of a row's features and its matrix.
    std::vector<float> actions(2 * kTileRows);
    add_noise(drawn.rows, 7, drawn.matrices + 7 * 6, actions.data());
    for (std::size_t i = 0; i < 2; ++i) {
      double sum = 0.0;
      for (std::size_t l = 0; l < 3; ++l) sum += seen[7 * 3 + l] * now[7 * 6 + l * 2 + i];
      EXPECT_NEAR(actions[i * kTileRows + 7], sum, 1e-5);
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const double variance = squares[i] / (400.0 * kRows);
    EXPECT_NEAR(variance / std::exp(2.0 * s[i]), 1.0, 0.08) << i;
  }
  EXPECT_NE(std::vector<float>(now.begin(), now.begin() + 6),
            std::vector<float>(now.begin() + 6, now.begin() + 12));
}

// With sde_sample_freq = -1, a block or an episode has one matrix.
TEST(StateNoise, DrawsOnceWithoutAFrequency) {
  const ActorCritic network(shape_of(3, 2, {}));
  TileWorkspace<float> work = network.make_workspace<float>();
  const std::vector<float> params = normals<float>(network.parameter_count(), 6),
                           seen = normals<float>(3, 7);
  network.forward(params.data(), seen.data(), 1, work);
  KeptNoise noise(network, 1);
  std::vector<float> kept;
  for (int t = 0; t < 50; ++t) {
    const RandomRows streams{9, Purpose::kUser, 0, static_cast<std::uint64_t>(70 + t), 1};
    const DrawnNoise drawn = noise.at(t, streams, 0, network.noise_rows(work, 1));
    if (t == 0) kept.assign(drawn.matrices, drawn.matrices + 6);
    EXPECT_EQ(kept, std::vector<float>(drawn.matrices, drawn.matrices + 6));
  }
}

}  // namespace
}  // namespace broadloom::state_noise_tests
