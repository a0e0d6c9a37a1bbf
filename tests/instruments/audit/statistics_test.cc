// Stale statistics, clipped rewards and actions, planted in blocks; and what an update looks like.
#include "broadloom/instruments/audit/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/instruments/audit/update_watch.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {
namespace {

constexpr double kClip = 10.0;

// Raw observations with mean 5 and deviation 2 in the first dimension, seen through statistics that
// took in `seen_mean` and `seen_deviation`.
RolloutBlock seen_through(double seen_mean, double seen_deviation) {
  Random random(1, Purpose::kUser, 0, 0);
  RolloutBlock block(64, 32, 2, 1, 0);
  std::vector<float> past(2 * 4096);
  ObsNormalizer normalizer(2, kClip, 1);
  for (std::size_t i = 0; i < past.size(); i += 2) {
    past[i] = static_cast<float>(seen_mean + seen_deviation * random.normal());
    past[i + 1] = static_cast<float>(random.normal());
  }
  normalizer.accumulate(0, past.data(), 4096);
  normalizer.commit();
  for (std::size_t i = 0; i < block.observations.floats().size(); i += 2) {
    block.observations.floats()[i] = static_cast<float>(5.0 + 2.0 * random.normal());
    block.observations.floats()[i + 1] = static_cast<float>(random.normal());
  }
  normalizer.normalize(block.observations.floats().data(), static_cast<int>(block.size()),
                       block.observations.floats().data());
  return block;
}

ObservationScale scale_of(const RolloutBlock& block) {
  std::vector<double> scratch(4);
  return observation_scale(block, kClip, scratch);
}

TEST(AuditNormaliser, TrueStatisticsGiveZScores) {
  const ObservationScale scale = scale_of(seen_through(5.0, 2.0));
  EXPECT_LT(scale.mean, 0.1);
  EXPECT_NEAR(scale.variance, 1.0, 0.1);
  EXPECT_EQ(scale.clipped, 0.0);
}

TEST(AuditNormaliser, StaleStatisticsShow) {
  EXPECT_NEAR(scale_of(seen_through(-5.0, 2.0)).mean, 5.0, 0.2);
  EXPECT_NEAR(scale_of(seen_through(5.0, 0.5)).variance, 16.0, 2.0);
  EXPECT_GT(scale_of(seen_through(5.0, 0.1)).clipped, 0.2);
}

TEST(AuditRewards, CountThoseAtTheClip) {
  RolloutBlock block(2, 2, 1, 1, 0);
  block.rewards = {1.0f, -5.0f, 5.0f, 4.9f};
  EXPECT_DOUBLE_EQ(rewards_clipped(block, 5.0), 0.5);
}

TEST(AuditActions, CountNumbersOutsideTheBounds) {
  RolloutBlock block(1, 2, 1, 2, 0);
  block.actions = {0.5f, -3.0f, 1.5f, 2.0f};
  EXPECT_DOUBLE_EQ(actions_outside(block, Space::box({-1, -2}, {1, 2})), 0.5);
}

MinibatchReport minibatch(int epoch, int number, double ratio_error, double kl, double clipped) {
  MinibatchReport report;
  report.ratios = {};
  report.epoch = epoch;
  report.minibatch = number;
  report.samples = 10;
  report.ratios.max_ratio_error = ratio_error;
  report.ratios.approx_kl = kl;
  report.ratios.clipped = clipped;
  report.ratios.ratios = 10.0;
  report.ratios.squared_ratios = 10.0;
  return report;
}

TEST(AuditUpdate, KeepsTheFirstMinibatchAndTheLastEpoch) {
  UpdateWatch watch;
  for (const double error : {0.0, 0.25}) {  // two updates, the second on a block of another policy
    MinibatchReport batch = minibatch(0, 0, 0.0, 0.0, 0.0);
    batch.entropy = 0.7;
    watch.on_batch(batch);
    watch.on_minibatch(minibatch(0, 0, error, 0.0, 0.0));
    watch.on_minibatch(minibatch(0, 1, 9.0, 1.0, 1.0));
    watch.on_minibatch(minibatch(1, 0, 9.0, 2.0, 6.0));
    MinibatchReport last = minibatch(1, 1, 9.0, 4.0, 10.0);
    last.ratios.squared_ratios = 40.0;  // a few ratios outweigh the rest: (10)^2 / 40 of 10
    watch.on_minibatch(last);
    EXPECT_EQ(watch.ratio_error(), error);
    EXPECT_DOUBLE_EQ(watch.last_kl(), 0.3);
    EXPECT_DOUBLE_EQ(watch.last_clipfrac(), 0.8);
    EXPECT_DOUBLE_EQ(watch.least_ess(), 25.0);
    EXPECT_DOUBLE_EQ(watch.entropy(), 0.7);
  }
}

// Its ratios are 1 by definition, so they say nothing of its step.
TEST(AuditUpdate, OneMinibatchMeasuresNoChange) {
  UpdateWatch watch;
  watch.on_batch(minibatch(0, 0, 0.0, 0.0, 0.0));
  watch.on_minibatch(minibatch(0, 0, 0.25, 0.0, 0.0));
  EXPECT_EQ(watch.ratio_error(), 0.25);
  EXPECT_TRUE(std::isnan(watch.last_kl()));
  EXPECT_TRUE(std::isnan(watch.last_clipfrac()));
  EXPECT_TRUE(std::isnan(watch.least_ess()));
  watch.on_minibatch(minibatch(0, 1, 9.0, 1.0, 1.0));
  EXPECT_DOUBLE_EQ(watch.last_kl(), 0.05);
  EXPECT_DOUBLE_EQ(watch.last_clipfrac(), 0.05);
  EXPECT_DOUBLE_EQ(watch.least_ess(), 100.0);
}

}  // namespace
}  // namespace broadloom
