#include "broadloom/env/episode_tracker.h"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace broadloom
