// Faults of environments, planted in blocks.
#include "broadloom/instruments/audit/environments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr double kGamma = 0.99;

RolloutBlock random_block(int num_steps, int num_envs) {
  RolloutBlock block(num_steps, num_envs, 3, 1, 1);
  Random random(1, Purpose::kUser, 0, 0);
  for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
  for (std::vector<float>* field :
       {&block.actions, &block.rewards, &block.values, &block.last_values}) {
    for (float& x : *field) x = static_cast<float>(random.normal());
  }
  return block;
}

// Environment `to` does what `from` does.
void copy_column(RolloutBlock& block, int from, int to) {
  for (int t = 0; t < block.T; ++t) {
    const std::size_t a = block.index(t, from), b = block.index(t, to);
    std::copy_n(&block.observations.floats()[a * block.D], block.D,
                &block.observations.floats()[b * block.D]);
    std::copy_n(&block.actions[a * block.A], block.A, &block.actions[b * block.A]);
    block.rewards[b] = block.rewards[a];
    block.values[b] = block.values[a];
  }
  block.last_values[to] = block.last_values[from];
}

Copies copies_of(const RolloutBlock& block, int families) {
  std::vector<Fingerprint> prints(static_cast<std::size_t>(block.N));
  column_fingerprints(block, families, prints);
  return count_copies(prints);
}

double phases(std::vector<std::int64_t> ages, std::int64_t steps) {
  return phase_concentration(ages, steps);
}

TEST(AuditPhases, AreOneWhereAllEpisodesAreInStepAndNoneWhereSpread) {
  EXPECT_DOUBLE_EQ(phases({16, 16, 16, 16}, 216), 1.0);
  EXPECT_DOUBLE_EQ(phases({0, 50, 100, 150}, 200), 0.0);
  EXPECT_DOUBLE_EQ(phases({7, 3, 7, 3}, 200), 1.0 / 3.0);  // 2 of 6 pairs
}

TEST(AuditPhases, CannotBeToldBeforeEpisodesHaveEnded) {
  EXPECT_TRUE(std::isnan(phases({8, 8, 8, 8}, 8)));
  EXPECT_TRUE(std::isnan(phases({8, 8, 1, 2}, 8)));
  EXPECT_FALSE(std::isnan(phases({8, 0, 1, 2}, 8)));
  EXPECT_TRUE(std::isnan(phases({3}, 100)));  // one environment has no other to be in step with
}

TEST(AuditCopies, CountsThoseOfOtherFamiliesAndOfTheirOwn) {
  RolloutBlock block = random_block(4, 8);
  EXPECT_EQ(copies_of(block, 8).across, 0.0);
  copy_column(block, 1, 6);
  EXPECT_DOUBLE_EQ(copies_of(block, 8).across, 2.0 / 8);
  EXPECT_EQ(copies_of(block, 8).same_family, 0.0);
  // With 5 families, environments 1 and 6 are of the same one.
  EXPECT_EQ(copies_of(block, 5).across, 0.0);
  EXPECT_DOUBLE_EQ(copies_of(block, 5).same_family, 2.0 / 8);
}

TEST(AuditCopies, OneBitOfOneNumberParts) {
  RolloutBlock block = random_block(4, 2);
  copy_column(block, 0, 1);
  EXPECT_DOUBLE_EQ(copies_of(block, 2).across, 1.0);
  RolloutBlock other = block;
  other.rewards[other.index(3, 1)] = std::nextafter(other.rewards[other.index(3, 1)], 9.0f);
  EXPECT_EQ(copies_of(other, 2).across, 0.0);
  other = block;
  other.actions[other.index(0, 1)] += 1.0f;
  EXPECT_EQ(copies_of(other, 2).across, 0.0);
}

TEST(AuditCorrelation, IndependentEnvironmentsCountInFull) {
  EXPECT_GT(effective_share(random_block(64, 64), kGamma, TruncationMode::kBootstrap), 0.5);
}

TEST(AuditCorrelation, CopiesCountAsOne) {
  RolloutBlock block = random_block(64, 64);
  for (int n = 1; n < block.N; ++n) copy_column(block, 0, n);
  EXPECT_NEAR(effective_share(block, kGamma, TruncationMode::kBootstrap), 1.0 / 64, 1e-3);
}

TEST(AuditCorrelation, ASharedDisturbanceShows) {
  RolloutBlock block = random_block(64, 256);
  Random random(2, Purpose::kUser, 0, 0);
  for (int t = 0; t < block.T; ++t) {
    const float gust = static_cast<float>(2.0 * random.normal());
    for (int n = 0; n < block.N; ++n) block.rewards[block.index(t, n)] += gust;
  }
  // Var of own TD errors: 1 + 1 + gamma^2; of the shared part: 4. rho = 4 / 6.98.
  const double rho = 4.0 / (4.0 + 2.0 + kGamma * kGamma);
  const double expected = 1.0 / (1.0 + 255.0 * rho);
  EXPECT_NEAR(effective_share(block, kGamma, TruncationMode::kBootstrap), expected, 0.3 * expected);
}

TEST(AuditCorrelation, NeedsStepsAndEnvironments) {
  EXPECT_TRUE(std::isnan(effective_share(random_block(7, 9), kGamma, TruncationMode::kZero)));
  EXPECT_TRUE(std::isnan(effective_share(random_block(9, 1), kGamma, TruncationMode::kZero)));
}

TEST(AuditDraws, TellsFamiliesThatDrawAlikeAndDrawsThatStay) {
  RolloutBlock block = random_block(4, 4);
  block.terminated[block.index(1, 0)] = 1;
  block.truncated[block.index(2, 3)] = 1;
  std::vector<Fingerprint> scratch(4);
  const std::vector<std::uint64_t> before{1, 2, 3, 4};
  Draws draws = compare_draws(block, before, std::vector<std::uint64_t>{5, 2, 3, 6}, scratch);
  EXPECT_EQ(draws.distinct, 1.0);
  EXPECT_EQ(draws.kept, 0.0);
  // 0 began an episode and kept its draw; 1 and 2 have drawn the same.
  draws = compare_draws(block, before, std::vector<std::uint64_t>{1, 2, 2, 6}, scratch);
  EXPECT_EQ(draws.distinct, 0.5);
  EXPECT_EQ(draws.kept, 0.5);
}

TEST(AuditDraws, StartsThatTrainingHasToo) {
  std::vector<Fingerprint> training{{9, 0}, {4, 1}, {7, 2}};
  EXPECT_EQ(share_seen(std::vector<Fingerprint>{{1, 0}, {2, 1}}, training), 0.0);
  EXPECT_EQ(share_seen(std::vector<Fingerprint>{{4, 0}, {2, 1}}, training), 0.5);
}

// Of commands and of one place.
SharedContext shared(std::vector<ContextRange> ranges, std::vector<double> values) {
  EnvSpec spec;
  for (const ContextRange& range : ranges) {
    if (range.name != "column") spec.commands.push_back({range.name, range.low, range.high});
  }
  spec.context = std::move(ranges);
  return shared_context(spec, values);
}

TEST(AuditContext, IsSharedByThePairsThatHaveTheSame) {
  const ContextRange speed{"speed", -1.0, 1.0}, column{"column", 0.0, 2.0};
  EXPECT_DOUBLE_EQ(shared({speed}, {0.1, 0.2, 0.3, 0.4}).share, 0.0);
  EXPECT_DOUBLE_EQ(shared({speed}, {0.1, 0.2, 0.1, 0.1}).share, 0.5);  // 3 of 6 pairs
  const SharedContext worst = shared({speed, column}, {0.1, 0.2, 0.3, 2.0, 2.0, 2.0});
  EXPECT_DOUBLE_EQ(worst.share, 1.0);
  EXPECT_EQ(worst.place, 1);
}

TEST(AuditContext, CountsCommandsThatAreFixedWhereNoneIsFree) {
  const ContextRange speed{"speed", -1.0, 1.0}, turn{"turn", 0.0, 0.0}, column{"column", 0.0, 2.0},
      plane{"column", 0.0, 0.0};
  EXPECT_DOUBLE_EQ(shared({speed, turn}, {0.1, 0.2, 0.0, 0.0}).share, 0.0);
  EXPECT_DOUBLE_EQ(shared({turn}, {0.0, 0.0}).share, 1.0);
  EXPECT_DOUBLE_EQ(shared({turn, column}, {0.0, 0.0, 1.0, 2.0}).share, 1.0);
  EXPECT_EQ(shared({column, turn}, {1.0, 2.0, 0.0, 0.0}).place, 1);
  EXPECT_TRUE(std::isnan(shared({plane}, {0.0, 0.0}).share));
}

// From a simulator of somebody's, as they come.
TEST(AuditContext, LeavesOutNumbersThatAreNotFinite) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const ContextRange speed{"speed", -1.0, 1.0}, column{"column", 0.0, 2.0};
  EXPECT_TRUE(std::isnan(shared({speed}, {0.1, kNan, 0.1, 0.1}).share));
  EXPECT_TRUE(std::isnan(shared({speed}, {kNan, kNan, kNan, kNan}).share));
  EXPECT_TRUE(std::isnan(shared({speed}, {kEndless, kEndless}).share));
  const SharedContext rest = shared({speed, column}, {kNan, 0.2, 0.3, 2.0, 2.0, 1.0});
  EXPECT_DOUBLE_EQ(rest.share, 1.0 / 3.0);
  EXPECT_EQ(rest.place, 1);
}

TEST(AuditContext, IsNotThereWithoutNumbersOrPairs) {
  EXPECT_TRUE(std::isnan(shared({}, {}).share));
  EXPECT_TRUE(std::isnan(shared({{"speed", -1.0, 1.0}}, {0.5}).share));
}

}  // namespace
}  // namespace broadloom
