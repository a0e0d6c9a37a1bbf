#include "broadloom/rollout/episode_tracker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

TEST(EpisodeTracker, MeansAreOverTheLastHundredInOrderOfTime) {
  constexpr int kEnvs = 3, kSteps = 50;
  EpisodeTracker tracker(kEnvs);
  EXPECT_TRUE(std::isnan(tracker.mean_return()));
  std::vector<double> returns, lengths, running(kEnvs, 0.0), length(kEnvs, 0.0);
  Random random(1, Purpose::kUser, 0, 0);
  for (int block = 0; block < 12; ++block) {
    std::vector<float> rewards(kEnvs * kSteps);
    std::vector<std::uint8_t> terminated(rewards.size(), 0), truncated(rewards.size(), 0);
    const std::size_t before = returns.size();
    for (std::size_t i = 0; i < rewards.size(); ++i) {
      const int n = static_cast<int>(i % kEnvs);
      rewards[i] = static_cast<float>(random.below(10));
      running[n] += rewards[i];
      length[n] += 1;
      if (random.uniform() < 0.1) (random.uniform() < 0.5 ? terminated : truncated)[i] = 1;
      if (!terminated[i] && !truncated[i]) continue;
      returns.push_back(running[n]);
      lengths.push_back(length[n]);
      running[n] = length[n] = 0.0;
    }
    tracker.observe(rewards.data(), terminated.data(), truncated.data(), kSteps);
    EXPECT_EQ(tracker.block_episodes(), static_cast<std::int64_t>(returns.size() - before));
    const std::size_t first = returns.size() > 100 ? returns.size() - 100 : 0;
    double mean_return = 0.0, mean_length = 0.0;
    for (std::size_t i = first; i < returns.size(); ++i) {
      mean_return += returns[i] / (returns.size() - first);
      mean_length += lengths[i] / (returns.size() - first);
    }
    EXPECT_NEAR(tracker.mean_return(), mean_return, 1e-9);
    EXPECT_NEAR(tracker.mean_length(), mean_length, 1e-9);
  }
  EXPECT_GT(returns.size(), 150u);
}

// Environment 2 rests for a block, in the middle of an episode.
TEST(EpisodeTracker, LeavesEpisodesOfThoseThatRestAsTheyAre) {
  EpisodeTracker tracker(3);
  const std::vector<float> rewards{1, 2, 3, 10, 20, 30, 40, 100, 200, 300};
  const std::vector<std::uint8_t> never(4, 0), both{0, 0, 1, 1}, all{1, 1, 1};
  tracker.observe(rewards.data(), never.data(), never.data(), 1);                 // [1, 3]
  tracker.observe(rewards.data() + 3, both.data(), never.data(), 2, nullptr, 2);  // [2, 2]
  EXPECT_EQ(tracker.block_episodes(), 2);
  EXPECT_EQ(tracker.mean_return(), (1.0 + 10 + 30 + 2 + 20 + 40) / 2);
  tracker.observe(rewards.data() + 7, all.data(), never.data(), 1);
  EXPECT_EQ(tracker.episodes(), 5);
  EXPECT_EQ(tracker.mean_return(), (103.0 + 100 + 200 + 303) / 5);
  EXPECT_EQ(tracker.mean_length(), (3.0 + 3 + 1 + 1 + 2) / 5);
}

// The leader of several policies has the last environments. The others' episodes end uncounted.
TEST(EpisodeTracker, CountsTheLeadersEpisodesOnly) {
  EpisodeTracker tracker(3);
  const std::vector<float> rewards{1, 2, 4, 8, 16, 32};  // [2, 3]
  const std::vector<std::uint8_t> terminated{1, 0, 0, 0, 0, 0}, truncated{0, 0, 0, 1, 0, 1};
  tracker.observe(rewards.data(), terminated.data(), truncated.data(), 2, nullptr, 0, nullptr, 1);
  EXPECT_EQ(tracker.block_episodes(), 1);
  EXPECT_EQ(tracker.mean_return(), 36.0);
  EXPECT_EQ(tracker.mean_length(), 2.0);
  EXPECT_EQ(tracker.termination_rate(), 0.0);
  const std::vector<std::uint8_t> all{1, 1, 1}, none(3, 0);
  tracker.observe(rewards.data(), all.data(), none.data(), 1);
  EXPECT_EQ(tracker.mean_return(), (36.0 + 1 + 20 + 4) / 4);
}

TEST(EpisodeTracker, LeavesOutWhatBeganBeforeTheRun) {
  EpisodeTracker tracker(2);
  tracker.leave_out_current(1);
  // [T, N]: environment 0 ends once, environment 1 twice, its first episode not being whole.
  const std::vector<float> rewards{1, 100, 2, 100, 4, 8};
  const std::vector<std::uint8_t> terminated{0, 1, 1, 0, 0, 1}, truncated(6, 0);
  tracker.observe(rewards.data(), terminated.data(), truncated.data(), 1);
  EXPECT_EQ(tracker.block_episodes(), 0);
  EXPECT_TRUE(std::isnan(tracker.mean_return()));
  tracker.observe(rewards.data() + 2, terminated.data() + 2, truncated.data(), 2);
  EXPECT_EQ(tracker.episodes(), 2);
  EXPECT_EQ(tracker.mean_return(), (3.0 + 108.0) / 2.0);
  EXPECT_EQ(tracker.mean_length(), 2.0);
}

// Outcomes of 250 episodes of one step, three strata in turn: in blocks that end 100 at most, the
// rates are those of the last 100.
TEST(EpisodeTracker, RatesAreOverTheLastHundred) {
  EpisodeTracker tracker(1, 2);
  EXPECT_TRUE(std::isnan(tracker.success_rate()));
  EXPECT_TRUE(std::isnan(tracker.termination_rate()));
  std::vector<float> rewards(250, 1.0f);
  std::vector<std::uint8_t> terminated(250), truncated(250);
  std::vector<EpisodeEnd> ends(250);
  double succeeded = 0.0, ended = 0.0, in_stratum[2] = {}, succeeded_in[2] = {};
  Random random(2, Purpose::kUser, 0, 0);
  for (std::size_t i = 0; i < 250; ++i) {
    terminated[i] = random.uniform() < 0.3 ? 1 : 0;
    truncated[i] = 1 - terminated[i];
    ends[i].success = random.uniform() < 0.6 ? 1 : 0;
    ends[i].stratum = static_cast<std::int16_t>(i % 3 == 2 ? 1 : 0);
    if (i < 150) continue;
    succeeded += ends[i].success;
    ended += terminated[i];
    in_stratum[ends[i].stratum] += 1.0;
    succeeded_in[ends[i].stratum] += ends[i].success;
  }
  for (const std::size_t first : {0, 50, 150}) {
    tracker.observe(&rewards[first], &terminated[first], &truncated[first], first == 0 ? 50 : 100,
                    &ends[first]);
  }
  EXPECT_DOUBLE_EQ(tracker.success_rate(), succeeded / 100.0);
  EXPECT_DOUBLE_EQ(tracker.termination_rate(), ended / 100.0);
  for (const int s : {0, 1}) {
    EXPECT_DOUBLE_EQ(tracker.success_rate(s), succeeded_in[s] / in_stratum[s]);
  }
  EXPECT_TRUE(std::isnan(tracker.success_rate(2)));
}

// 400 environments, each of which ends an episode every step, with its number as return: the last
// 100 would be those of environments 300 to 399.
TEST(EpisodeTracker, ABlockThatEndsMoreIsReportedWhole) {
  constexpr std::size_t kEnvs = 400, kSteps = 4;
  EpisodeTracker tracker(kEnvs, 2);
  std::vector<float> rewards(kEnvs * kSteps);
  std::vector<std::uint8_t> terminated(rewards.size()), truncated(rewards.size());
  std::vector<EpisodeEnd> ends(rewards.size());
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    const std::size_t n = i % kEnvs;
    rewards[i] = static_cast<float>(n);
    terminated[i] = n < 100 ? 1 : 0;
    truncated[i] = 1 - terminated[i];
    ends[i].success = n < 300 ? 1 : 0;
    ends[i].stratum = n < 200 ? 0 : 1;
  }
  tracker.observe(rewards.data(), terminated.data(), truncated.data(), kSteps, ends.data());
  const auto expect_whole_block = [](const EpisodeTracker& of_block) {
    EXPECT_EQ(of_block.episodes_averaged(), 1600);
    EXPECT_EQ(of_block.mean_return(), 199.5);
    EXPECT_EQ(of_block.mean_length(), 1.0);
    EXPECT_EQ(of_block.termination_rate(), 0.25);
    EXPECT_EQ(of_block.success_rate(), 0.75);
    EXPECT_EQ(of_block.success_rate(0), 1.0);
    EXPECT_EQ(of_block.success_rate(1), 0.5);
  };
  expect_whole_block(tracker);
  EpisodeTracker restored(kEnvs, 2);
  std::vector<TensorRef> source, target;
  tracker.append_state("episodes", source);
  tracker.append_block_state("episodes", source);
  restored.append_state("episodes", target);
  restored.append_block_state("episodes", target);
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::memcpy(target[i].data, source[i].data, source[i].bytes());
  }
  expect_whole_block(restored);
  // A block without episode ends reports the last 100 of the run.
  const std::vector<std::uint8_t> goes_on(kEnvs, 0);
  tracker.observe(rewards.data(), goes_on.data(), goes_on.data(), 1);
  EXPECT_EQ(tracker.episodes_averaged(), 100);
  EXPECT_EQ(tracker.mean_return(), 349.5);
}

// Unknown outcomes are not failures, and entries without an episode end are not read.
TEST(EpisodeTracker, DoesNotGuessUnknownOutcomes) {
  EpisodeTracker tracker(2);
  const std::vector<float> rewards(4, 1.0f);
  const std::vector<std::uint8_t> terminated{1, 0, 0, 0}, truncated(4, 0);
  tracker.observe(rewards.data(), terminated.data(), truncated.data(), 2);
  EXPECT_TRUE(std::isnan(tracker.success_rate()));
  EXPECT_EQ(tracker.termination_rate(), 1.0);
  EpisodeEnd failure, success;
  failure.success = 0;
  success.success = 1;
  const std::vector<EpisodeEnd> ends{success, failure, failure, failure};
  tracker.observe(rewards.data(), terminated.data(), truncated.data(), 2, ends.data());
  EXPECT_EQ(tracker.success_rate(), 1.0);
}

TEST(EpisodeTracker, ForgetsCurrentEpisodesWhenNewOnesBegin) {
  EpisodeTracker tracker(1);
  const std::vector<float> rewards{1, 2, 4};
  const std::vector<std::uint8_t> goes_on(3, 0), ends{0, 0, 1};
  tracker.observe(rewards.data(), goes_on.data(), goes_on.data(), 3);
  tracker.begin_anew();
  tracker.observe(rewards.data(), ends.data(), goes_on.data(), 3);
  EXPECT_EQ(tracker.mean_return(), 7.0);
  EXPECT_EQ(tracker.mean_length(), 3.0);
}

}  // namespace
}  // namespace broadloom
