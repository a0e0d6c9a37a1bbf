// Networks for tests of exact gradients, and a block's gradient by definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/tabular.h"
#include "broadloom/learn/ppo_loss.h"
#include "research/lab/exact.h"

namespace broadloom {

using Vector = std::vector<double>;

inline double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline double distance(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

inline double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

inline ActorCritic make_network(const TabularModel& model, const std::vector<int>& hidden,
                                bool shared_encoder = false) {
  NetworkShape shape;
  shape.observation_size = model.num_states;
  shape.action_outputs = model.num_actions;
  shape.hidden_sizes = hidden;
  shape.shared_encoder = shared_encoder;
  return ActorCritic(shape);
}

inline Vector random_params(const ActorCritic& network, double scale, std::uint32_t lane = 0) {
  Random random(17, Purpose::kUser, lane, 0);
  Vector params(network.parameter_count());
  for (double& p : params) p = scale * random.normal();
  return params;
}

inline std::unique_ptr<ExactGradients> solve(const TabularModel& model, const ActorCritic& network,
                                             const Vector& params, const ExactSettings& settings) {
  auto exact = ExactGradients::create(model, network, params.data(), settings);
  EXPECT_TRUE(exact.ok()) << exact.status().message();
  return exact.take();
}

// A network's outputs for every state, by the loss that trains it: grad log pi(a | s) is the
// gradient of -A r at A = -1 and ratio 1.
struct Tabulated {
  Vector policy;               // [S, A]
  Vector values;               // [S]
  std::vector<Vector> scores;  // [S * A] of [P]
};

inline Tabulated tabulate(const TabularModel& model, const ActorCritic& network,
                          const Vector& params) {
  Tabulated table;
  PpoCoefficients coefficients;
  coefficients.ent_coef = 0.0;
  coefficients.vf_coef = 0.0;
  Vector transposed(params.size());
  network.refresh_transposed(params.data(), transposed.data());
  TileWorkspace<double> work = network.make_workspace<double>();
  for (int s = 0; s < model.num_states; ++s) {
    for (int a = 0; a < model.num_actions; ++a) {
      TileBatch<double> batch(model.num_states, 1, model.num_actions);
      batch.rows = 1;
      batch.observations[s] = 1.0;
      batch.actions[0] = a;
      batch.advantages[0] = -1.0;
      network.forward(params.data(), batch.observations.data(), 1, work);
      double total = 0.0;
      for (int i = 0; i < model.num_actions; ++i) total += std::exp(work.policy[i * kTileRows]);
      const double probability = std::exp(work.policy[a * kTileRows]) / total;
      batch.old_log_probs[0] = std::log(probability);
      if (a == 0) table.values.push_back(work.values[0]);
      table.policy.push_back(probability);
      table.scores.emplace_back(params.size(), 0.0);
      PpoSums sums;
      ppo_tile_gradient(network, coefficients, 1, params.data(), transposed.data(), batch, work,
                        table.scores.back().data(), sums);
    }
  }
  return table;
}

// One step of a block.
struct Taken {
  int state, action, next;
  double reward;
  bool terminated, truncated;
};

// A_t by definition.
inline Vector block_advantages(const std::vector<Taken>& block, const Vector& values,
                               const ExactCase& exact_case, TruncationMode mode) {
  Vector advantages(block.size());
  double advantage = 0.0;
  for (std::size_t t = block.size(); t-- > 0;) {
    const Taken& step = block[t];
    const double value = values[step.state];
    const double next_value = values[step.next];
    if (step.terminated) {
      advantage = step.reward - value;
    } else if (step.truncated) {
      advantage = step.reward - value;
      if (mode == TruncationMode::kBootstrap) advantage += exact_case.gamma * next_value;
      if (mode == TruncationMode::kStateValue) advantage += exact_case.gamma * value;
      if (mode == TruncationMode::kZero) advantage = 0.0;
    } else {
      advantage = step.reward + exact_case.gamma * next_value - value +
                  exact_case.gamma * exact_case.lambda * advantage;
    }
    advantages[t] = advantage;
  }
  return advantages;
}

// The gradient from one environment's block.
struct BlockGradient {
  Vector gradient;           // -1/T sum of A_t score_t
  double step_square = 0.0;  // 1/T sum of |A_t score_t|^2
};

inline BlockGradient block_gradient(const std::vector<Taken>& block, const Tabulated& table,
                                    int num_actions, const ExactCase& exact_case,
                                    TruncationMode mode) {
  const Vector advantages = block_advantages(block, table.values, exact_case, mode);
  const double share = 1.0 / static_cast<double>(block.size());
  BlockGradient result;
  result.gradient.assign(table.scores[0].size(), 0.0);
  for (std::size_t t = 0; t < block.size(); ++t) {
    const Vector& score = table.scores[block[t].state * num_actions + block[t].action];
    for (std::size_t i = 0; i < score.size(); ++i) {
      result.gradient[i] -= share * advantages[t] * score[i];
    }
    result.step_square += share * advantages[t] * advantages[t] * dot(score, score);
  }
  return result;
}

// Three states and two actions; starts, moves and rewards are random; state 0 can be kept.
inline TabularModel tiny_model() {
  TabularModel model;
  model.num_states = 3;
  model.num_actions = 2;
  model.start = {0.7, 0.3, 0.0};
  model.transitions = {
      {{0.6, 1, 1.0, false}, {0.4, 0, -0.5, false}},  // 0, 0
      {{0.8, 2, 0.2, false}, {0.2, 0, 2.0, true}},    // 0, 1
      {{1.0, 2, -1.0, false}},                        // 1, 0
      {{0.5, 0, 0.7, false}, {0.5, 1, 1.5, true}},    // 1, 1
      {{0.9, 1, 0.3, false}, {0.1, 1, -2.0, false}},  // 2, 0
      {{0.3, 2, 3.0, true}, {0.7, 0, 0.0, false}},    // 2, 1
  };
  return model;
}

}  // namespace broadloom
