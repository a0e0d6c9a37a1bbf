// The study of windows on policies whose answers are known, and refusals.
// sanitizers: none
#include "research/lab/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

std::unique_ptr<Trainer> trainer_with(const Overrides& more) {
  const Overrides keys = {{"env_id", "TMaze-v0"},     {"env.length", "3"},
                          {"num_envs", "8"},          {"num_steps", "12"},
                          {"hidden_sizes", "6"},      {"num_minibatches", "2"},
                          {"total_timesteps", "960"}, {"recurrent", "gru"}};
  std::unique_ptr<Trainer> trainer = trainer_of(resolved(add_overrides(keys, more)));
  run(*trainer, 5);
  return trainer;
}

std::vector<WindowResult> study(const Policy& policy, WindowSettings settings) {
  const Result<std::vector<WindowResult>> results = study_windows(policy, settings);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.value();
}

TEST(Windows, OfAWholeBlockHaveNoBiasAndShorterOnesHave) {
  const std::unique_ptr<Trainer> trainer = trainer_with({});
  const std::vector<WindowResult> results =
      study(trainer->policy(), {.lengths = {1, 3, 6}, .blocks = 120});
  ASSERT_EQ(results.size(), 8u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const WindowResult& r = results[i];
    EXPECT_EQ(r.side, i < 4 ? "policy" : "critic");
    EXPECT_EQ(r.length, (std::vector{1, 3, 6, 12})[i % 4]);
    if (r.length < 12) continue;
    EXPECT_EQ(r.relative_bias.value, 0.0);
    EXPECT_NEAR(r.cosine.value, 1.0, 1e-6);
    EXPECT_NEAR(r.variance.value, 1.0, 1e-9);
  }
  EXPECT_GT(results[4].relative_bias.value, results[6].relative_bias.value);
  EXPECT_GT(results[4].relative_bias.low, 0.0);
}

// Episodes of one step have nothing to remember: all windows have the same gradient.
TEST(Windows, OfEpisodesOfOneStepAreAlike) {
  const std::unique_ptr<Trainer> trainer = trainer_with({{"max_episode_steps", "1"}});
  for (const WindowResult& r : study(trainer->policy(), {.lengths = {1, 4}, .blocks = 80})) {
    EXPECT_NEAR(r.cosine.value, 1.0, 1e-4) << r.side << " " << r.length;
    EXPECT_NEAR(r.variance.value, 1.0, 1e-3) << r.side << " " << r.length;
    EXPECT_LT(r.relative_bias.value, 1e-2) << r.side << " " << r.length;
  }
}

TEST(Windows, TakeActionValues) {
  const std::unique_ptr<Trainer> trainer =
      trainer_with({{"algorithm", "pqn"}, {"num_minibatches", "2"}});
  const std::vector<WindowResult> results =
      study(trainer->policy(), {.lengths = {3}, .blocks = 120});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].side, "values");
  EXPECT_GT(results[0].relative_bias.low, 0.0);
  EXPECT_EQ(results[1].relative_bias.value, 0.0);
}

TEST(Windows, FollowTheRunsGaeWeights) {
  const std::unique_ptr<Trainer> trainer = trainer_with({});
  const Policy own = trainer->policy();
  Config config = own.config;
  config.gae_weights = "normalised";
  const Policy other{config, own.spec, own.network, own.params, own.obs_norm};
  const WindowSettings settings{.lengths = {3}, .blocks = 80};
  EXPECT_NE(study(own, settings)[0].relative_bias.value,
            study(other, settings)[0].relative_bias.value);
}

TEST(Windows, DoNotDependOnThreads) {
  const std::unique_ptr<Trainer> trainer = trainer_with({{"recurrent", "lstm"}});
  const std::vector<WindowResult> one = study(trainer->policy(), {.lengths = {2}, .blocks = 80});
  const std::vector<WindowResult> three =
      study(trainer->policy(), {.lengths = {2}, .blocks = 80, .threads = 3});
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].relative_bias.value, three[i].relative_bias.value);
    EXPECT_EQ(one[i].agreement.high, three[i].agreement.high);
  }
}

void expect_refusal(const Policy& policy, const WindowSettings& settings,
                    const std::string& words) {
  const Result<std::vector<WindowResult>> results = study_windows(policy, settings);
  ASSERT_FALSE(results.ok());
  EXPECT_NE(results.status().message().find(words), std::string::npos)
      << results.status().message();
}

TEST(Windows, AreRefusedWithWords) {
  const std::unique_ptr<Trainer> trainer = trainer_with({});
  expect_refusal(trainer->policy(), {.lengths = {5}},
                 "windows: got 5, expected divisors of the blocks' 12 steps");
  expect_refusal(trainer->policy(), {.lengths = {0}}, "windows: got 0");
  expect_refusal(trainer->policy(), {.blocks = 79}, "blocks: got 79, expected at least 80");
  const std::unique_ptr<Trainer> other = trainer_with({{"recurrent", "none"}});
  expect_refusal(other->policy(), {}, "recurrent = none");
}

}  // namespace
}  // namespace broadloom
