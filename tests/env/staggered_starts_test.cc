// Staggered starts spread environments over the phases of their episodes, equally for all thread
// counts.
// sanitizers: address, threads
#include "broadloom/env/staggered_starts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
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

TEST(StaggeredStarts, SpreadEachLotSeparately) {
  for (const int threads : {1, 2, 5}) {
    VecEnvOptions options{.num_envs = 4};
    options.threads = threads;
    EXPECT_EQ(steps_of(options, 10), (std::vector<std::int64_t>{0, 2, 5, 7}));
    options.num_envs = 7;
    options.joining = {2, 4};
    EXPECT_EQ(steps_of(options, 10), (std::vector<std::int64_t>{0, 5, 0, 5, 0, 3, 6}));
  }
}

TEST(StaggeredStarts, ReturnTheErrorOfTheFirstFailure) {
  for (const int threads : {1, 2, 5}) {
    VecEnvOptions options{.num_envs = 50};
    options.threads = threads;
    const Status status = stagger_starts(options, 100, [](int env, std::int64_t) {
      return env % 7 == 3 ? invalid(std::to_string(env)) : Status();
    });
    EXPECT_EQ(status.message(), "3");
  }
}

// Compares with environments that play one after the other.
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

// The environments do not move; their first episodes are truncated earlier by their age.
TEST(StaggeredStarts, ByAgeBeginAtFirstStates) {
  constexpr int kEnvs = 12, kLimit = 30;
  VecEnvOptions options{.num_envs = kEnvs, .seed = 3};
  options.max_episode_steps = kLimit;
  const std::unique_ptr<VecEnv> in_step = make("Pendulum-v1", options);
  options.stagger_starts = true;
  options.stagger_by = StaggerBy::kAge;
  options.joining = {4};
  const std::unique_ptr<VecEnv> aged = make("Pendulum-v1", options);
  const std::vector<std::int64_t> ages = staggered_ages(options, kLimit);
  EXPECT_EQ(ages, (std::vector<std::int64_t>{0, 7, 15, 22, 0, 3, 7, 11, 15, 18, 22, 26}));
  for (int i = 0; i < kEnvs; ++i) EXPECT_EQ(aged->episode_step(i), ages[i]);
  const Rollout one = roll(*aged, 0, kLimit, kEnvs), other = roll(*in_step, 0, kLimit, kEnvs);
  for (std::size_t i = 0; i < kEnvs; ++i) {
    for (std::size_t t = 0; t < kLimit; ++t) {
      const std::size_t row = t * kEnvs + i;
      const std::size_t end = kLimit - 1 - static_cast<std::size_t>(ages[i]);
      EXPECT_EQ(one.truncated[row] != 0, t == end) << i << " at " << t;
      if (t <= end) EXPECT_EQ(one.rewards[row], other.rewards[row]) << i << " at " << t;
    }
  }
}

TEST(StaggeredStarts, ByAgeNeedATimeLimit) {
  VecEnvOptions options{.num_envs = 3, .stagger_starts = true, .stagger_by = StaggerBy::kAge};
  const Status status = make_vec_env("MinAtar/Breakout-v0", {}, options).status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("MinAtar/Breakout-v0 has no time limit; set max_episode_steps"),
            std::string::npos)
      << status.message();
  options.state_follows = true;
  EXPECT_TRUE(make_vec_env("MinAtar/Breakout-v0", {}, options).ok());
}

// Without staggering, a state that is overwritten at once still continues equally.
TEST(StaggeredStarts, AreSkippedIfAStateFollows) {
  VecEnvOptions options{.num_envs = 16, .seed = 3, .stagger_starts = true};
  options.max_episode_steps = 60;
  const std::unique_ptr<VecEnv> begun = make("CartPole-v1", options);
  options.state_follows = true;
  const std::unique_ptr<VecEnv> other = make("CartPole-v1", options);
  std::int64_t steps = 0;
  for (int i = 0; i < 16; ++i) steps += begun->episode_step(i);
  ASSERT_GT(steps, 0);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(other->episode_step(i), 0);
  std::vector<TensorRef> source, target;
  begun->append_state("envs", source);
  other->append_state("envs", target);
  ASSERT_EQ(source.size(), target.size());
  for (std::size_t t = 0; t < source.size(); ++t)
    std::memcpy(target[t].data, source[t].data, source[t].bytes());
  ASSERT_TRUE(other->state_restored().ok());
  EXPECT_EQ(roll(*begun, 0, 70, 16) == roll(*other, 0, 70, 16), true);
}

}  // namespace
}  // namespace broadloom
