// Faults of advantages and value targets, planted in blocks that compute_advantages() filled.
#include "broadloom/instruments/audit/learning_signal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr double kDiscount = 0.99, kLambda = 0.95;
constexpr TruncationMode kModes[] = {TruncationMode::kBootstrap, TruncationMode::kAsTermination,
                                     TruncationMode::kStateValue, TruncationMode::kZero};

constexpr GaeWeights kGeometric = GaeWeights::kGeometric, kNormalised = GaeWeights::kNormalised;

// Ends of both kinds in every column, one of them in the last step.
RolloutBlock block_with_ends(TruncationMode mode, GaeWeights weights = kGeometric) {
  RolloutBlock block(32, 6, 2, 1, 2);
  Random random(1, Purpose::kUser, 0, 0);
  for (std::vector<float>* field :
       {&block.rewards, &block.values, &block.last_values, &block.final_values}) {
    for (float& x : *field) x = static_cast<float>(random.normal());
  }
  for (int n = 0; n < block.N; ++n) {
    block.terminated[block.index(3 + 2 * n, n)] = 1;
    block.truncated[block.index(20 + n, n)] = 1;
    block.truncations[n] = 1;
  }
  block.truncated[block.index(31, 2)] = 1;
  block.truncations[2] = 2;
  compute_advantages(block, 0, block.N, kDiscount, kLambda, mode, weights);
  return block;
}

double error_of(const RolloutBlock& block, TruncationMode mode, GaeWeights weights = kGeometric) {
  return target_error(block, kDiscount, kLambda, mode, weights);
}

TEST(AuditTargets, AgreeWithTheDefinitionInEveryMode) {
  for (const TruncationMode mode : kModes) {
    for (const GaeWeights weights : {kGeometric, kNormalised}) {
      EXPECT_LT(error_of(block_with_ends(mode, weights), mode, weights), 1e-5)
          << static_cast<int>(mode) << static_cast<int>(weights);
    }
  }
}

TEST(AuditTargets, OtherWeightsShow) {
  const TruncationMode mode = TruncationMode::kBootstrap;
  EXPECT_GT(error_of(block_with_ends(mode, kNormalised), mode, kGeometric), 0.1);
  EXPECT_GT(error_of(block_with_ends(mode, kGeometric), mode, kNormalised), 0.1);
}

// Every power of 1 counts, and none of 0 but the first.
TEST(AuditTargets, AgreeWithTheDefinitionAtTheEndsOfLambda) {
  const TruncationMode mode = TruncationMode::kBootstrap;
  RolloutBlock block = block_with_ends(mode);
  for (const double lambda : {0.0, 1.0}) {
    for (const GaeWeights weights : {kGeometric, kNormalised}) {
      compute_advantages(block, 0, block.N, kDiscount, lambda, mode, weights);
      EXPECT_LT(target_error(block, kDiscount, lambda, mode, weights), 1e-5) << lambda;
    }
  }
}

TEST(AuditTargets, AnEndThatWasDroppedShows) {
  const TruncationMode mode = TruncationMode::kBootstrap;
  for (int n = 0; n < 6; ++n) {
    RolloutBlock leaking = block_with_ends(mode);
    RolloutBlock without = leaking;
    without.terminated[without.index(3 + 2 * n, n)] = 0;
    compute_advantages(without, 0, without.N, kDiscount, kLambda, mode);
    leaking.advantages = without.advantages;
    EXPECT_GT(error_of(leaking, mode), 0.01) << n;
  }
}

TEST(AuditTargets, AnotherTruncationModeShows) {
  for (const TruncationMode mode : kModes) {
    if (mode == TruncationMode::kBootstrap) continue;
    EXPECT_GT(error_of(block_with_ends(mode), TruncationMode::kBootstrap), 0.1);
  }
}

TEST(AuditTargets, ABootstrapValueOfAnotherEnvironmentShows) {
  RolloutBlock block = block_with_ends(TruncationMode::kBootstrap);
  std::swap(block.last_values[0], block.last_values[1]);
  EXPECT_GT(error_of(block, TruncationMode::kBootstrap), 0.01);
}

TEST(AuditTdErrors, TakeWhatFollows) {
  RolloutBlock block(2, 1, 1, 1, 1);
  block.rewards = {1, 2};
  block.values = {0.5f, 4};
  block.last_values = {8};
  block.final_values = {16};
  const auto errors = [&](TruncationMode mode) {
    return std::vector<double>{td_error(block, 0, 0, 0.5, mode), td_error(block, 1, 0, 0.5, mode)};
  };
  EXPECT_EQ(errors(TruncationMode::kBootstrap), (std::vector<double>{2.5, 2.0}));
  block.terminated[0] = 1;
  EXPECT_EQ(errors(TruncationMode::kBootstrap), (std::vector<double>{0.5, 2.0}));
  block.truncated[1] = 1;
  block.truncations[0] = 1;
  EXPECT_EQ(errors(TruncationMode::kBootstrap)[1], 2 + 8 - 4);
  EXPECT_EQ(errors(TruncationMode::kAsTermination)[1], 2 - 4);
  EXPECT_EQ(errors(TruncationMode::kStateValue)[1], 2 + 2 - 4);
  EXPECT_EQ(errors(TruncationMode::kZero)[1], 0);
}

TEST(AuditAdvantages, ScaleAndDominance) {
  RolloutBlock block(10, 10, 1, 1, 0);
  for (std::size_t i = 0; i < block.size(); ++i) {
    block.advantages[i] = i % 2 == 0 ? 1.0f : -1.0f;
    block.values[i] = 3.0f;
  }
  AdvantageScale scale = advantage_scale(block);  // targets 4 and 2: root mean square sqrt(10)
  EXPECT_NEAR(scale.deviation, 1.0 / std::sqrt(10.0), 1e-9);
  EXPECT_NEAR(scale.dominance, 0.01, 1e-9);
  EXPECT_NEAR(target_deviation(block), 1.0, 1e-9);

  block.advantages[7] = 1000.0f;  // one sample that the update follows
  EXPECT_GT(advantage_scale(block).dominance, 0.9);

  // A critic that knows all, to the rounding of float32.
  for (std::size_t i = 0; i < block.size(); ++i) block.advantages[i] = i % 2 == 0 ? 1e-6f : -1e-6f;
  EXPECT_LT(advantage_scale(block).deviation, 1e-6);
  std::fill(block.advantages.begin(), block.advantages.end(), 0.0f);
  EXPECT_TRUE(std::isnan(advantage_scale(block).dominance));
}

TEST(AuditEnds, AreCountedByKind) {
  const EpisodeEnds ends = count_ends(block_with_ends(TruncationMode::kBootstrap));
  EXPECT_EQ(ends.ends, 13u);
  EXPECT_EQ(ends.truncations, 7u);
}

}  // namespace
}  // namespace broadloom
