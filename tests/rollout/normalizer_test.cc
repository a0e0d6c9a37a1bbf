#include "broadloom/rollout/normalizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

std::vector<float> random_rows(int rows, int width, double offset, double scale,
                               std::uint64_t index) {
  Random random(5, Purpose::kUser, 1, index);
  std::vector<float> values(static_cast<std::size_t>(rows) * width);
  for (float& v : values) v = static_cast<float>(offset + scale * random.normal());
  return values;
}

// Mean and variance over all samples at once, with the prior of count 1e-4, mean 0, variance 1.
void expect_statistics(const RunningMeanStd& got, const std::vector<double>& samples, int width) {
  const double count = static_cast<double>(samples.size() / width);
  EXPECT_NEAR(got.count(), count + 1e-4, 1e-6);
  for (int d = 0; d < width; ++d) {
    double mean = 0.0;
    for (std::size_t i = d; i < samples.size(); i += width) mean += samples[i];
    mean /= count + 1e-4;
    double m2 = 1e-4 * (1.0 + mean * mean);
    for (std::size_t i = d; i < samples.size(); i += width)
      m2 += (samples[i] - mean) * (samples[i] - mean);
    EXPECT_NEAR(got.mean()[d], mean, 1e-9 * (1 + std::abs(mean)));
    EXPECT_NEAR(got.var()[d], m2 / (count + 1e-4), 1e-7 * m2 / count);
  }
}

TEST(ObsNormalizer, StatisticsEqualThoseOfAllSamplesAtOnce) {
  ObsNormalizer normalizer(3, 10.0, 4);
  std::vector<double> all;
  for (int block = 0; block < 3; ++block) {
    for (int shard = 0; shard < 4; ++shard) {
      const std::vector<float> rows =
          random_rows(17, 3, 100.0 * block, 1.0 + shard, block * 4 + shard);
      normalizer.accumulate(shard, rows.data(), 17);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    normalizer.commit();
  }
  expect_statistics(normalizer.statistics(), all, 3);
}

TEST(ObsNormalizer, IsFrozenUntilCommitAndClips) {
  ObsNormalizer normalizer(1, 2.0, 1);
  const std::vector<float> rows{0.5f, -9.0f, 3.0f};
  std::vector<float> seen(3);
  normalizer.accumulate(0, rows.data(), 3);
  normalizer.normalize(rows.data(), 3, seen.data());
  EXPECT_NEAR(seen[0], 0.5f, 1e-6f);
  EXPECT_EQ(seen[1], -2.0f);
  EXPECT_EQ(seen[2], 2.0f);
  normalizer.commit();
  normalizer.normalize(rows.data(), 3, seen.data());
  EXPECT_NEAR(seen[0], (0.5 + 5.5 / 3) / std::sqrt(26.7222), 1e-5);
}

TEST(ObsNormalizer, OrderOfShardsInTimeDoesNotMatter) {
  const auto run = [](const std::vector<int>& order) {
    ObsNormalizer normalizer(2, 10.0, 3);
    for (int t = 0; t < 5; ++t) {
      for (const int shard : order) {
        const std::vector<float> rows = random_rows(9, 2, 3.0, 2.0, t * 3 + shard);
        normalizer.accumulate(shard, rows.data(), 9);
      }
    }
    normalizer.commit();
    return normalizer.statistics().mean();
  };
  EXPECT_EQ(run({0, 1, 2}), run({2, 0, 1}));
}

TEST(RewardNormalizer, FollowsGymnasiumsDefinition) {
  constexpr int kSteps = 40, kEnvs = 6;
  const std::vector<float> rewards = random_rows(kSteps, kEnvs, -1.0, 2.0, 77);
  std::vector<std::uint8_t> terminated(rewards.size(), 0);
  Random random(5, Purpose::kUser, 2, 0);
  for (auto& flag : terminated) flag = random.uniform() < 0.1 ? 1 : 0;
  std::vector<double> acc(kEnvs, 0.0), all;
  for (int t = 0; t < kSteps; ++t) {
    for (int n = 0; n < kEnvs; ++n) {
      acc[n] = acc[n] * 0.9 * (1 - terminated[t * kEnvs + n]) + rewards[t * kEnvs + n];
      all.push_back(acc[n]);
    }
  }
  RewardNormalizer normalizer(kEnvs, 0.9, 10.0, 2);
  normalizer.accumulate(1, 4, 6, rewards.data(), terminated.data(), kSteps);
  normalizer.accumulate(0, 0, 4, rewards.data(), terminated.data(), kSteps);
  normalizer.commit();
  expect_statistics(normalizer.statistics(), all, 1);
  std::vector<float> scaled = rewards;
  normalizer.scale(scaled.data(), scaled.size());
  EXPECT_NEAR(scaled[3], rewards[3] / std::sqrt(normalizer.statistics().var()[0] + 1e-8), 1e-6);
}

// What environments that rest have run up stays, and shards that a block does not have add nothing.
TEST(RewardNormalizer, TakesBlocksOfTheFirstEnvironmentsAlone) {
  const std::vector<std::uint8_t> never(12, 0);
  const std::vector<float> all{1, 2, 3, 4}, two{5, 6, 7, 8};  // [1, 4], then [2, 2]
  RewardNormalizer normalizer(4, 0.5, 10.0, 2);
  normalizer.accumulate(0, 0, 2, all.data(), never.data(), 1);
  normalizer.accumulate(1, 2, 4, all.data(), never.data(), 1);
  normalizer.commit();
  normalizer.accumulate(0, 0, 2, two.data(), never.data(), 2, 2);
  normalizer.commit();
  expect_statistics(normalizer.statistics(), {1, 2, 3, 4, 5.5, 7, 9.75, 11.5}, 1);
  std::vector<TensorRef> state;
  normalizer.append_state("", state);
  const double* returns = static_cast<const double*>(state.back().data);
  EXPECT_EQ(std::vector<double>(returns, returns + 4), (std::vector<double>{9.75, 11.5, 3, 4}));
}

}  // namespace
}  // namespace broadloom
