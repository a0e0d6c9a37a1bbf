#include "broadloom/rollout/advantages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr double kGamma = 0.9;
constexpr double kLambda = 0.8;

// One environment, r = 1..4, V = .5, 1, 1.5, 2, V(last) = 2.5, V(final) = 7.
RolloutBlock truth_block(int terminated_at, int truncated_at) {
  RolloutBlock block(4, 1, 1, 1, 2);
  block.rewards = {1, 2, 3, 4};
  block.values = {0.5f, 1, 1.5f, 2};
  block.last_values = {2.5f};
  if (terminated_at >= 0) block.terminated[terminated_at] = 1;
  if (truncated_at >= 0) {
    block.truncated[truncated_at] = 1;
    block.truncations[0] = 1;
    block.final_values[0] = 7;
  }
  return block;
}

void expect_advantages(RolloutBlock block, TruncationMode mode,
                       const std::vector<double>& expected) {
  compute_advantages(block, 0, 1, kGamma, kLambda, mode);
  for (int t = 0; t < 4; ++t) EXPECT_NEAR(block.advantages[t], expected[t], 2e-6) << "t = " << t;
}

TEST(Advantages, TruthTableOfEpisodeEnds) {
  const TruncationMode mode = TruncationMode::kBootstrap;
  expect_advantages(truth_block(-1, -1), mode, {6.389024, 6.9292, 6.36, 4.25});
  expect_advantages(truth_block(1, -1), mode, {2.12, 1, 6.36, 4.25});
  expect_advantages(truth_block(-1, 1), mode, {6.656, 7.3, 6.36, 4.25});
  expect_advantages(truth_block(-1, 3), mode, {7.9006784, 9.02872, 9.276, 8.3});
  expect_advantages(truth_block(3, -1), mode, {5.549216, 5.7628, 4.74, 2});
}

TEST(Advantages, TruthTableOfThePeersTruncations) {
  expect_advantages(truth_block(-1, 1), TruncationMode::kAsTermination, {2.12, 1, 6.36, 4.25});
  expect_advantages(truth_block(-1, 1), TruncationMode::kStateValue, {2.768, 1.9, 6.36, 4.25});
  expect_advantages(truth_block(-1, 1), TruncationMode::kZero, {1.4, 0, 6.36, 4.25});
}

// The definition, summed forwards: A_t = sum over k of (gamma lambda)^k delta_{t+k} up to the
// episode's end.
double brute_force(const RolloutBlock& block, int t, int n, double gamma, double lambda) {
  double total = 0.0;
  double weight = 1.0;
  for (int s = t; s < block.T; ++s) {
    const std::size_t i = block.index(s, n);
    double next = s + 1 < block.T ? block.values[block.index(s + 1, n)] : block.last_values[n];
    if (block.truncated[i]) {
      int slot = 0;
      for (int before = 0; before < s; ++before) slot += block.truncated[block.index(before, n)];
      next = block.final_values[block.final_index(n, slot)];
    }
    if (block.terminated[i]) next = 0.0;
    total += weight * (block.rewards[i] + gamma * next - block.values[i]);
    if (block.terminated[i] || block.truncated[i]) break;
    weight *= gamma * lambda;
  }
  return total;
}

constexpr TruncationMode kModes[] = {TruncationMode::kBootstrap, TruncationMode::kAsTermination,
                                     TruncationMode::kStateValue, TruncationMode::kZero};

// end_chance: of each step, for a termination or a truncation.
RolloutBlock random_block(int steps, int envs, double end_chance, Random& random) {
  RolloutBlock block(steps, envs, 1, 1, steps);
  for (float& v : block.values) v = static_cast<float>(random.normal());
  for (float& v : block.rewards) v = static_cast<float>(random.normal());
  for (float& v : block.last_values) v = static_cast<float>(random.normal());
  for (float& v : block.final_values) v = static_cast<float>(random.normal());
  for (int t = 0; t < steps; ++t) {
    for (int n = 0; n < envs; ++n) {
      if (random.uniform() >= end_chance) continue;
      if (random.uniform() < 0.5) {
        block.terminated[block.index(t, n)] = 1;
      } else {
        block.truncated[block.index(t, n)] = 1;
        block.truncations[n] += 1;
      }
    }
  }
  return block;
}

TEST(Advantages, EqualTheDefinitionOverRandomEnds) {
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    Random random(7, Purpose::kUser, 0, trial);
    const int steps = trial % 5 == 0 ? 1 : 1 + static_cast<int>(random.below(40));
    const int envs = 1 + static_cast<int>(random.below(9));
    const double end_chance = random.uniform(0.0, 0.6);
    const double gamma = random.uniform();
    const double lambda = trial % 7 == 0 ? 1.0 : (trial % 7 == 1 ? 0.0 : random.uniform());
    RolloutBlock block = random_block(steps, envs, end_chance, random);
    compute_advantages(block, 0, envs / 2, gamma, lambda, TruncationMode::kBootstrap);
    compute_advantages(block, envs / 2, envs, gamma, lambda, TruncationMode::kBootstrap);
    for (int t = 0; t < steps; ++t) {
      for (int n = 0; n < envs; ++n) {
        ASSERT_NEAR(block.advantages[block.index(t, n)], brute_force(block, t, n, gamma, lambda),
                    2e-5)
            << "trial " << trial << " t " << t << " n " << n;
      }
    }
  }
}

// A^(1) to A^(n) of step t: discounted rewards of k steps, and the value behind them, less V(s_t).
std::vector<double> k_step_advantages(const RolloutBlock& block, int t, int n, double gamma,
                                      TruncationMode mode) {
  std::vector<double> advantages;
  const double value = block.values[block.index(t, n)];
  double rewards = 0.0, discount = 1.0;
  for (int s = t; s < block.T; ++s) {
    const std::size_t i = block.index(s, n);
    const double before = rewards, own = block.values[i];
    rewards += discount * block.rewards[i];
    double next = s + 1 < block.T ? block.values[block.index(s + 1, n)] : block.last_values[n];
    if (block.terminated[i] != 0) next = 0.0;
    if (block.truncated[i] != 0) {
      int slot = 0;
      for (int r = 0; r < s; ++r) slot += block.truncated[block.index(r, n)];
      next = block.final_values[block.final_index(n, slot)];
      if (mode == TruncationMode::kAsTermination) next = 0.0;
      if (mode == TruncationMode::kStateValue) next = own;
    }
    if (block.truncated[i] != 0 && mode == TruncationMode::kZero) {
      advantages.push_back(before + discount * own -
                           value);  // no TD error: it ends before the step
    } else {
      advantages.push_back(rewards + discount * gamma * next - value);
    }
    if (block.terminated[i] != 0 || block.truncated[i] != 0) break;
    discount *= gamma;
  }
  return advantages;
}

// w_k of n advantages.
double weight_of(GaeWeights weights, int k, int n, double lambda) {
  if (weights == GaeWeights::kGeometric) {
    return k == n ? std::pow(lambda, n - 1) : (1.0 - lambda) * std::pow(lambda, k - 1);
  }
  if (lambda == 1.0) return 1.0 / n;
  return (1.0 - lambda) * std::pow(lambda, k - 1) / (1.0 - std::pow(lambda, n));
}

double mean_of_advantages(const std::vector<double>& advantages, GaeWeights weights,
                          double lambda) {
  const int n = static_cast<int>(advantages.size());
  double sum = 0.0;
  for (int k = 1; k <= n; ++k) {
    sum += weight_of(weights, k, n, lambda) * advantages[static_cast<std::size_t>(k - 1)];
  }
  return sum;
}

// Environments fill no strip, one, and several.
TEST(Advantages, AreTheMeanOfKStepAdvantages) {
  constexpr int kShapes[][2] = {{1, 1}, {1, 130}, {2, 64}, {3, 5}, {17, 65}, {60, 9}, {41, 150}};
  for (std::uint64_t trial = 0; trial < 3 * std::size(kShapes); ++trial) {
    const auto [steps, envs] = kShapes[trial / 3];
    Random random(8, Purpose::kUser, 0, trial);
    RolloutBlock block = random_block(steps, envs, std::vector{0.0, 0.1, 0.5}[trial % 3], random);
    for (const TruncationMode mode : kModes) {
      for (const double lambda : {0.0, 0.5, 0.95, 1.0}) {
        for (const GaeWeights weights : {GaeWeights::kGeometric, GaeWeights::kNormalised}) {
          const double gamma = trial % 2 == 0 ? 1.0 : 0.97;
          compute_advantages(block, 0, envs, gamma, lambda, mode, weights);
          for (int t = 0; t < steps; ++t) {
            for (int n = 0; n < envs; ++n) {
              ASSERT_NEAR(
                  block.advantages[block.index(t, n)],
                  mean_of_advantages(k_step_advantages(block, t, n, gamma, mode), weights, lambda),
                  2e-5)
                  << "trial " << trial << " mode " << static_cast<int>(mode) << " lambda " << lambda
                  << " t " << t << " n " << n;
            }
          }
        }
      }
    }
  }
}

// Environment l has its only reward, 1, in step l. Undiscounted and without values, A_0 is the
// weight of all advantages of more than l steps.
TEST(Advantages, NormalisedWeightsFallByLambdaAndAddUpToOne) {
  for (const double lambda : {0.3, 0.95, 0.999, 1.0}) {
    for (const int steps : {2, 5, 100}) {
      RolloutBlock block(steps, steps, 1, 1, 0);
      for (int l = 0; l < steps; ++l) block.rewards[block.index(l, l)] = 1.0f;
      compute_advantages(block, 0, steps, 1.0, lambda, TruncationMode::kBootstrap,
                         GaeWeights::kNormalised);
      std::vector<double> weights;
      double sum = 0.0;
      for (int k = 1; k <= steps; ++k) {
        const double longer = k < steps ? block.advantages[k] : 0.0;
        weights.push_back(block.advantages[k - 1] - longer);
        sum += weights.back();
      }
      EXPECT_NEAR(sum, 1.0, 1e-12);
      for (int k = 1; k < steps; ++k) {
        EXPECT_NEAR(weights[k], lambda * weights[k - 1], 5e-7)
            << "lambda " << lambda << " k " << k + 1 << " of " << steps;
      }
    }
  }
}

TEST(Advantages, OfEachRangeOfEnvironmentsHaveTheWholesBits) {
  constexpr int kEnvs = 150;
  Random random(9, Purpose::kUser, 0, 0);
  RolloutBlock block = random_block(23, kEnvs, 0.05, random);
  for (const GaeWeights weights : {GaeWeights::kGeometric, GaeWeights::kNormalised}) {
    compute_advantages(block, 0, kEnvs, kGamma, kLambda, TruncationMode::kBootstrap, weights);
    const std::vector<float> whole = block.advantages;
    for (const int half : {1, 63, 64, 75, 149}) {
      std::fill(block.advantages.begin(), block.advantages.end(), -7.0f);
      compute_advantages(block, half, kEnvs, kGamma, kLambda, TruncationMode::kBootstrap, weights);
      compute_advantages(block, 0, half, kGamma, kLambda, TruncationMode::kBootstrap, weights);
      EXPECT_EQ(block.advantages, whole) << half;
    }
  }
}

}  // namespace
}  // namespace broadloom
