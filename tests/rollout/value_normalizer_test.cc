#include "broadloom/rollout/value_normalizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {
namespace {

constexpr int kSteps = 12, kEnvs = 5;

// Values and advantages drawn anew, about another middle.
void draw(RolloutBlock& block, std::uint64_t index) {
  Random random(3, Purpose::kUser, 2, index);
  for (float& v : block.values) v = static_cast<float>(40.0 + 9.0 * random.normal());
  for (float& a : block.advantages) a = static_cast<float>(-80.0 + 70.0 * random.normal());
}

// Mean, variance and count of all samples and of one at 0 with variance 1.
std::vector<double> moments_of(const std::vector<double>& samples) {
  const double count = static_cast<double>(samples.size()) + 1.0;
  double sum = 0.0;
  for (const double x : samples) sum += x;
  const double mean = sum / count;
  double squares = 1.0 + mean * mean;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  return {mean, squares / count, count};
}

NetworkShape shape_of(bool shared) {
  NetworkShape shape;
  shape.observation_size = 3;
  shape.action_outputs = 2;
  shape.hidden_sizes = {17, 9};
  shape.shared_encoder = shared;
  return shape;
}

// rl_games 2.0, RunningMeanStd((1,)) in training, given [1, 2, 4] and then [10, 20, 30]: mean,
// variance and count afterwards, and its outputs. The last row is in evaluation: 1000 normalised,
// 0.5 and -7 denormalised. It rounds mean and variance to float32.
constexpr double kRlGames[] = {
    9.571428571428571,
    111.53061224489795,
    7.0,
    -0.480383472616118,
    0.1601278242053727,
    1.441150417848354,
    0.0405813465956197,
    0.987478831805539,
    1.9343763170154582,
    5.0,
    14.851830959320068,
    -43.232598304748535,
};

TEST(ValueNormalizer, HasTheStatisticsAndOutputsOfRlGames) {
  RolloutBlock block(3, 1, 1, 1, 0);
  block.values = {1.0f, 2.0f, 4.0f};
  block.advantages = {9.0f, 18.0f, 26.0f};
  const ActorCritic network(shape_of(false));
  std::vector<float> params(network.parameter_count());
  ValueNormalizer normalizer(ValueNorm::kRunning);
  EXPECT_FLOAT_EQ(normalizer.unit().value(2.0f), 2.0f * std::sqrt(1.00001f));
  normalizer.take(block, network.value_head(), params.data());
  EXPECT_NEAR(normalizer.statistics().mean()[0], kRlGames[0], 1e-12);
  EXPECT_NEAR(normalizer.statistics().var()[0], kRlGames[1], 1e-11);
  EXPECT_EQ(normalizer.statistics().count(), kRlGames[2]);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(normalizer.old_output(block.values[i]), kRlGames[3 + i], 1e-6);
    EXPECT_NEAR(normalizer.target(block.advantages[i] + block.values[i]), kRlGames[6 + i], 1e-6);
  }
  EXPECT_NEAR(normalizer.target(1000.0f), kRlGames[9], 1e-6);
  EXPECT_NEAR(normalizer.unit().value(0.5f), kRlGames[10], 1e-5);
  EXPECT_NEAR(normalizer.unit().value(-7.0f), kRlGames[11], 1e-5);
}

TEST(ValueNormalizer, StatisticsEqualThoseOfAllTransitionsAtOnce) {
  BlockSizes sizes{.T = kSteps, .N = kEnvs, .D = 1, .A = 1, .with_fillers = true};
  RolloutBlock block(sizes);
  const ActorCritic network(shape_of(false));
  std::vector<float> params(network.parameter_count());
  ValueNormalizer normalizer(ValueNorm::kRunning);
  std::vector<double> all;
  for (std::uint64_t index = 0; index < 3; ++index) {
    draw(block, index);
    std::fill(block.fillers.begin(), block.fillers.end(), std::uint8_t{0});
    for (std::size_t i = index; i < block.size(); i += 7) {
      block.fillers[i] = 1;
      block.values[i] = 1e6f;
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block.fillers[i] == 0) all.push_back(block.values[i]);
    }
    const std::vector<double> with_values = moments_of(all);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block.fillers[i] == 0) all.push_back(block.advantages[i] + block.values[i]);
    }
    const std::vector<double> expected = moments_of(all);
    normalizer.take(block, network.value_head(), params.data());
    EXPECT_NEAR(normalizer.statistics().mean()[0], expected[0], 1e-9);
    EXPECT_NEAR(normalizer.statistics().var()[0], expected[1], 1e-9 * expected[1]);
    EXPECT_EQ(normalizer.statistics().count(), expected[2]);
    const double old = (50.0 - with_values[0]) / std::sqrt(with_values[1] + 1e-5);
    EXPECT_NEAR(normalizer.old_output(50.0f), old, 1e-6);
    const double target = (50.0 - expected[0]) / std::sqrt(expected[1] + 1e-5);
    EXPECT_NEAR(normalizer.target(50.0f), target, 1e-6);
  }
}

TEST(ValueNormalizer, DenormalizesWhatTheBlockUsesAndKeepsNaN) {
  RolloutBlock block(kSteps, kEnvs, 1, 1, 2);
  const ActorCritic network(shape_of(false));
  std::vector<float> params(network.parameter_count());
  ValueNormalizer normalizer(ValueNorm::kRunning);
  draw(block, 1);
  normalizer.take(block, network.value_head(), params.data());
  const ValueUnit unit = normalizer.unit();
  std::fill(block.values.begin(), block.values.end(), 0.25f);
  block.values[3] = std::nanf("");
  std::fill(block.last_values.begin(), block.last_values.end(), -0.5f);
  std::fill(block.final_values.begin(), block.final_values.end(), 2.0f);
  block.truncations = {0, 1, 2, 0, 0};
  normalizer.denormalize(block);
  EXPECT_EQ(block.values[0], static_cast<float>(unit.mean + 0.25 * unit.deviation));
  EXPECT_TRUE(std::isnan(block.values[3]));
  EXPECT_EQ(block.last_values[4], static_cast<float>(unit.mean - 0.5 * unit.deviation));
  const float value = static_cast<float>(unit.mean + 2.0 * unit.deviation);
  const std::vector<float> finals{2.0f, 2.0f, value, 2.0f, value, value, 2.0f, 2.0f, 2.0f, 2.0f};
  EXPECT_EQ(block.final_values, finals);
}

// The critic's values of random observations, in units of rewards.
std::vector<float> values_of(const ActorCritic& network, const std::vector<float>& params,
                             const ValueNormalizer& normalizer) {
  constexpr int kRows = 20;
  Random random(9, Purpose::kUser, 4, 0);
  std::vector<float> seen(kRows * 3);
  for (float& x : seen) x = static_cast<float>(random.normal());
  TileWorkspace<float> work = network.make_workspace<float>();
  network.forward(params.data(), seen.data(), kRows, work);
  normalizer.denormalize(work.values.data(), kRows);
  return {work.values.begin(), work.values.begin() + kRows};
}

TEST(Popart, KeepsValuesWhileStatisticsMove) {
  RolloutBlock block(kSteps, kEnvs, 1, 1, 0);
  for (const bool shared : {false, true}) {
    const ActorCritic network(shape_of(shared));
    std::vector<float> params(network.parameter_count());
    network.initialise(2, params.data());
    const std::vector<float> first = params;
    ValueNormalizer popart(ValueNorm::kPopart), running(ValueNorm::kRunning);
    for (std::uint64_t index = 0; index < 4; ++index) {
      const std::vector<float> before = values_of(network, params, popart);
      draw(block, index);
      popart.take(block, network.value_head(), params.data());
      const std::vector<float> after = values_of(network, params, popart);
      for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_NEAR(after[i], before[i], 1e-6 * popart.unit().deviation) << index;
        // The clip of the loss begins at a change of 0.
        EXPECT_NEAR(popart.old_output(before[i]), popart.unit().output(after[i]), 1e-6);
      }
      std::vector<float> same = params;
      running.take(block, network.value_head(), same.data());
      EXPECT_EQ(same, params);
      EXPECT_EQ(running.statistics().var(), popart.statistics().var());
    }
    // Only the head has changed.
    const LinearSlice& head = network.value_head();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const bool is_head = (i >= head.weight && i < head.weight + head.in) || i == head.bias;
      EXPECT_EQ(params[i] != first[i], is_head) << i;
    }
  }
}

TEST(Popart, DoesNotClipRareReturns) {
  RolloutBlock block(100, 10, 1, 1, 0);
  std::fill(block.values.begin(), block.values.end(), 0.0f);
  std::fill(block.advantages.begin(), block.advantages.end(), 0.0f);
  block.advantages[7] = 500.0f;
  const ActorCritic network(shape_of(false));
  std::vector<float> params(network.parameter_count());
  ValueNormalizer popart(ValueNorm::kPopart), running(ValueNorm::kRunning);
  popart.take(block, network.value_head(), params.data());
  running.take(block, network.value_head(), params.data());
  EXPECT_GT(popart.target(500.0f), 40.0f);
  EXPECT_NEAR(popart.unit().value(popart.target(500.0f)), 500.0f, 1e-3);
  EXPECT_EQ(running.target(500.0f), 5.0f);
}

}  // namespace
}  // namespace broadloom
