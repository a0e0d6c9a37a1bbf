// Environments are spread over the phases of their episodes, on any number of threads alike.
#include "broadloom/env/staggered_starts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/env/rollout.h"

namespace broadloom {
namespace {

std::vector<std::int64_t> steps_of(const VecEnvOptions& options, std::int64_t limit) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(options.num_envs));
  const Status status = stagger_starts(options, limit, [&](int env, std::int64_t count) {
    steps[static_cast<std::size_t>(env)] += count;
    return Status();
  });
  EXPECT_TRUE(status.ok());
  return steps;
}

TEST(StaggeredStarts, SpreadEachLotByItself) {
  for (const int threads : {1, 2, 5}) {
    VecEnvOptions options{.num_envs = 4};
    options.threads = threads;
    EXPECT_EQ(steps_of(options, 10), (std::vector<std::int64_t>{0, 2, 5, 7}));
    options.num_envs = 7;
    options.joining = {2, 4};
    EXPECT_EQ(steps_of(options, 10), (std::vector<std::int64_t>{0, 5, 0, 5, 0, 3, 6}));
  }
}

TEST(StaggeredStarts, GiveTheErrorOfTheFirstThatFails) {
  for (const int threads : {1, 2, 5}) {
    VecEnvOptions options{.num_envs = 50};
    options.threads = threads;
    const Status status = stagger_starts(options, 100, [](int env, std::int64_t) {
      return env % 7 == 3 ? invalid(std::to_string(env)) : Status();
    });
    EXPECT_EQ(status.message(), "3");
  }
}

// As one environment after the other plays it, step by step under the streams' actions.
TEST(StaggeredStarts, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const char* id : {"CartPole-v1", "Pendulum-v1", "MinAtar/Breakout-v0"}) {
    VecEnvOptions options{.num_envs = 37, .seed = 3, .stagger_starts = true};
    options.max_episode_steps = 60;
    const Rollout one = roll(*make(id, options), 0, 70, 37);
    for (const int threads : {2, 5}) {
      options.threads = threads;
      EXPECT_EQ(roll(*make(id, options), 0, 70, 37) == one, true) << id << " " << threads;
    }
  }
}

}  // namespace
}  // namespace broadloom
