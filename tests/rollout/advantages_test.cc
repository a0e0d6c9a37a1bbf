#include "broadloom/rollout/advantages.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(Advantages, EqualTheDefinitionOverRandomEnds) {
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    Random random(7, Purpose::kUser, 0, trial);
    const int steps = trial % 5 == 0 ? 1 : 1 + static_cast<int>(random.below(40));
    const int envs = 1 + static_cast<int>(random.below(9));
    const double end_chance = random.uniform(0.0, 0.6);
    const double gamma = random.uniform();
    const double lambda = trial % 7 == 0 ? 1.0 : (trial % 7 == 1 ? 0.0 : random.uniform());
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

}  // namespace
}  // namespace broadloom
