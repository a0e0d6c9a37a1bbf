#include "broadloom/rollout/normalizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/spec.h"

namespace broadloom {
namespace {

std::vector<float> random_rows(int rows, int width, double offset, double scale,
                               std::uint64_t index) {
  Random random(5, Purpose::kUser, 1, index);
  std::vector<float> values(static_cast<std::size_t>(rows) * width);
  for (float& v : values) v = static_cast<float>(offset + scale * random.normal());
  return values;
}

// Mean and variance over all samples at once. prior: count of an artificial sample of mean 0 and
// variance 1.
void expect_statistics(const RunningMeanStd& got, const std::vector<double>& samples, int width,
                       double prior = 0.0) {
  const double count = static_cast<double>(samples.size() / width);
  EXPECT_NEAR(got.count(), count + prior, 1e-6);
  for (int d = 0; d < width; ++d) {
    double mean = 0.0;
    for (std::size_t i = d; i < samples.size(); i += width) mean += samples[i];
    mean /= count + prior;
    double m2 = prior * (1.0 + mean * mean);
    for (std::size_t i = d; i < samples.size(); i += width)
      m2 += (samples[i] - mean) * (samples[i] - mean);
    EXPECT_NEAR(got.mean()[d], mean, 1e-9 * (1 + std::abs(mean)));
    EXPECT_NEAR(got.var()[d], m2 / (count + prior), 1e-7 * m2 / count);
  }
}
constexpr double kGymnasiumsPrior = 1e-4;

void expect_statistics_of_all_at_once(NormaliserRule rule, double prior) {
  ObsNormalizer normalizer(3, 10.0, 4, rule);
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
  expect_statistics(normalizer.statistics(), all, 3, prior);
}

TEST(ObsNormalizer, StatisticsEqualThoseOfAllSamplesAtOnce) {
  expect_statistics_of_all_at_once(NormaliserRule::kExact, 0.0);
  expect_statistics_of_all_at_once(NormaliserRule::kGymnasium, kGymnasiumsPrior);
}

// An artificial sample at 0 would leave a standard deviation of 0.013 after this block.
TEST(ObsNormalizer, NumbersFarFromZeroHaveUnitVarianceAfterTheFirstBlock) {
  for (const double offset : {1800.0, 100000.0, -100000.0}) {
    ObsNormalizer normalizer(1, 10.0, 1);
    const std::vector<float> rows = random_rows(2048, 1, offset, 0.29, 3);
    normalizer.accumulate(0, rows.data(), 2048);
    normalizer.commit();
    std::vector<float> seen(rows.size());
    normalizer.normalize(rows.data(), 2048, seen.data());
    double sum = 0.0, squares = 0.0;
    for (const float z : seen) sum += z, squares += static_cast<double>(z) * z;
    EXPECT_NEAR(sum / 2048, 0.0, 1e-3) << offset;
    EXPECT_NEAR(squares / 2048, 1.0, 1e-3) << offset;
  }
}

// RSL-RL's EmpiricalNormalization: (x - mean) / (deviation + eps), not clipped.
TEST(ObsNormalizer, MayAddEpsToTheDeviationAndNotClip) {
  ObsNormalizer normalizer(1, 0.0, 1, NormaliserRule::kExact, {0.01, true});
  const std::vector<float> rows{1.0f, 3.0f};
  normalizer.accumulate(0, rows.data(), 2);
  normalizer.commit();
  const float far = 1e6f;
  float out = 0.0f;
  normalizer.normalize(&far, 1, &out);
  EXPECT_FLOAT_EQ(out, (1e6f - 2.0f) / 1.01f);
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

// Groups of bytes and choices stay as they are, whatever the clip. The others are those of a
// normaliser that sees nothing else.
TEST(ObsNormalizer, LeavesGroupsOfBytesAsTheyAre) {
  const Space space = Space::grouped({{"a", Space::box({0.0f, 0.0f}, {1.0f, 1.0f})},
                                      {"image", Space::bytes({2, 1, 1})},
                                      {"choice", Space::discrete(2)},
                                      {"b", Space::box({0.0f}, {1.0f})}});
  ObsNormalizer whole(7, 1.5, 1), plain(3, 1.5, 1);
  whole.leave_out(space.groups);
  std::vector<float> rows, floats;
  for (std::uint32_t r = 0; r < 40; ++r) {
    Random random(3, Purpose::kUser, r, 0);
    const std::array<float, 3> x{static_cast<float>(random.normal() * 9.0), 4.0f,
                                 static_cast<float>(random.normal())};
    floats.insert(floats.end(), x.begin(), x.end());
    rows.insert(rows.end(), {x[0], x[1], 255.0f, static_cast<float>(r), 0.0f, 1.0f, x[2]});
  }
  whole.accumulate(0, rows.data(), 40);
  plain.accumulate(0, floats.data(), 40);
  whole.commit();
  plain.commit();
  const ObsNormalizer copy = whole.with_shards(2);
  std::vector<float> seen(rows.size()), expected(floats.size());
  copy.normalize(rows.data(), 40, seen.data());
  plain.normalize(floats.data(), 40, expected.data());
  for (std::size_t r = 0; r < 40; ++r) {
    EXPECT_EQ(seen[7 * r], expected[3 * r]);
    EXPECT_EQ(seen[7 * r + 1], expected[3 * r + 1]);
    for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(seen[7 * r + i], rows[7 * r + i]);
    EXPECT_EQ(seen[7 * r + 6], expected[3 * r + 2]);
  }
  for (const std::size_t d : {2, 3, 4, 5}) EXPECT_EQ(whole.statistics().mean()[d], 0.0);
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

// 40 steps of 6 environments, some of which end.
struct Episodes {
  static constexpr int kSteps = 40, kEnvs = 6;
  static constexpr double kGamma = 0.9;
  std::vector<float> rewards = random_rows(kSteps, kEnvs, -1.0, 2.0, 77);
  std::vector<std::uint8_t> terminated, truncated;

  Episodes() : terminated(rewards.size(), 0), truncated(rewards.size(), 0) {
    Random random(5, Purpose::kUser, 2, 0);
    for (auto& flag : terminated) flag = random.uniform() < 0.1 ? 1 : 0;
    for (auto& flag : truncated) flag = random.uniform() < 0.1 ? 1 : 0;
  }
  // Shards are added in another order.
  void take_into(RewardNormalizer& normalizer) const {
    const RewardNormalizer::Ends ends{terminated.data(), truncated.data()};
    normalizer.accumulate(1, 4, 6, rewards.data(), ends, kSteps);
    normalizer.accumulate(0, 0, 4, rewards.data(), ends, kSteps);
    normalizer.commit();
  }
};

TEST(RewardNormalizer, FollowsGymnasiumsDefinition) {
  const Episodes episodes;
  std::vector<double> acc(Episodes::kEnvs, 0.0), all;
  for (std::size_t i = 0; i < episodes.rewards.size(); ++i) {
    double& sum = acc[i % Episodes::kEnvs];
    sum = sum * Episodes::kGamma * (1 - episodes.terminated[i]) + episodes.rewards[i];
    all.push_back(sum);
  }
  RewardNormalizer normalizer(Episodes::kEnvs, Episodes::kGamma, 10.0, 2,
                              NormaliserRule::kGymnasium);
  episodes.take_into(normalizer);
  expect_statistics(normalizer.statistics(), all, 1, kGymnasiumsPrior);
  std::vector<float> scaled = episodes.rewards;
  normalizer.scale(scaled.data(), scaled.size());
  EXPECT_NEAR(scaled[3], episodes.rewards[3] / std::sqrt(normalizer.statistics().var()[0] + 1e-8),
              1e-6);
}

// As in OpenAI Baselines and Stable-Baselines3, an episode's sum includes its last reward.
TEST(RewardNormalizer, SumsEndAfterTheLastRewardOfAnEpisode) {
  const Episodes episodes;
  std::vector<double> acc(Episodes::kEnvs, 0.0), all;
  for (std::size_t i = 0; i < episodes.rewards.size(); ++i) {
    double& sum = acc[i % Episodes::kEnvs];
    sum = sum * Episodes::kGamma + episodes.rewards[i];
    all.push_back(sum);
    if (episodes.terminated[i] != 0 || episodes.truncated[i] != 0) sum = 0.0;
  }
  RewardNormalizer normalizer(Episodes::kEnvs, Episodes::kGamma, 10.0, 2);
  episodes.take_into(normalizer);
  expect_statistics(normalizer.statistics(), all, 1);
}

// Episodes of 5 with 100 at their end, gamma 1: sums are 0, 0, 0, 0, 100, of deviation 40.
TEST(RewardNormalizer, ABonusAtTheEndIsOfItsEpisodeAlone) {
  std::vector<float> rewards(100, 0.0f);
  std::vector<std::uint8_t> ends(100, 0), never(100, 0);
  for (std::size_t i = 4; i < 100; i += 5) rewards[i] = 100.0f, ends[i] = 1;
  for (const bool terminates : {true, false}) {
    RewardNormalizer normalizer(1, 1.0, 10.0, 1);
    const std::uint8_t *cut = ends.data(), *not_cut = never.data();
    normalizer.accumulate(
        0, 0, 1, rewards.data(),
        terminates ? RewardNormalizer::Ends{cut, not_cut} : RewardNormalizer::Ends{not_cut, cut},
        100);
    normalizer.commit();
    EXPECT_NEAR(std::sqrt(normalizer.statistics().var()[0]), 40.0, 1e-9);
  }
}

TEST(RewardNormalizer, TinyRewardsGetUnitSize) {
  std::vector<float> rewards = random_rows(64, 1, 0.0, 1e-5, 9);
  const std::vector<std::uint8_t> always(64, 1);
  RewardNormalizer normalizer(1, 0.99, 10.0, 1);
  normalizer.accumulate(0, 0, 1, rewards.data(), {always.data(), nullptr}, 64);
  normalizer.commit();
  normalizer.scale(rewards.data(), rewards.size());
  double sum = 0.0, squares = 0.0;
  for (const float r : rewards) sum += r, squares += static_cast<double>(r) * r;
  EXPECT_NEAR(squares / 64 - (sum / 64) * (sum / 64), 1.0, 1e-5);
}

// Equal sums have no standard deviation to divide by.
TEST(RewardNormalizer, EqualSumsAreLeftAsTheyAre) {
  std::vector<float> rewards(8, 3.0f);
  const std::vector<std::uint8_t> always(8, 1);
  RewardNormalizer normalizer(1, 0.99, 10.0, 1);
  normalizer.accumulate(0, 0, 1, rewards.data(), {always.data(), nullptr}, 8);
  normalizer.commit();
  normalizer.scale(rewards.data(), rewards.size());
  EXPECT_EQ(rewards, std::vector<float>(8, 3.0f));
}

// Sums of environments at rest stay, and shards that a block does not have add nothing.
TEST(RewardNormalizer, TakesBlocksOfTheFirstEnvironmentsAlone) {
  const std::vector<std::uint8_t> never(12, 0);
  const std::vector<float> all{1, 2, 3, 4}, two{5, 6, 7, 8};  // [1, 4], then [2, 2]
  RewardNormalizer normalizer(4, 0.5, 10.0, 2);
  normalizer.accumulate(0, 0, 2, all.data(), {never.data(), nullptr}, 1);
  normalizer.accumulate(1, 2, 4, all.data(), {never.data(), nullptr}, 1);
  normalizer.commit();
  normalizer.accumulate(0, 0, 2, two.data(), {never.data(), nullptr}, 2, 2);
  normalizer.commit();
  expect_statistics(normalizer.statistics(), {1, 2, 3, 4, 5.5, 7, 9.75, 11.5}, 1);
  std::vector<TensorRef> state;
  normalizer.append_state("", state);
  const double* returns = static_cast<const double*>(state.back().data);
  EXPECT_EQ(std::vector<double>(returns, returns + 4), (std::vector<double>{9.75, 11.5, 3, 4}));
}

}  // namespace
}  // namespace broadloom
