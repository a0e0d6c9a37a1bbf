// Compares stacks of vectors with stacks made slowly from the environment's own observations.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/frame_stack.h"
#include "tests/env/next_step.h"
#include "tests/env/observation_envs.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

constexpr int kPlayed = 7;

struct VectorCase {
  const char* id;
  int k;
  const char* padding;
  Overrides options = {};  // of both environments
  bool staggered = false;
};

VecEnvOptions played(const VectorCase& c) {
  return {.num_envs = kPlayed,
          .seed = 4,
          .stagger_starts = c.staggered,
          .max_episode_steps = c.staggered ? 23 : 12};
}

std::unique_ptr<VecEnv> plain_of(const VectorCase& c) {
  EXPECT_TRUE(register_observation_envs());
  return make(c.id, played(c), c.options);
}

std::unique_ptr<VecEnv> stacked_of(const VectorCase& c) {
  EXPECT_TRUE(register_observation_envs());
  Overrides options = c.options;
  options.emplace_back("frame_stack", std::to_string(c.k));
  options.emplace_back("frame_padding", c.padding);
  return make(c.id, played(c), options);
}

// The last k observations of one environment, oldest first.
class SlowHistory {
 public:
  SlowHistory(int k, const std::string& padding, std::vector<float> first)
      : k_(k), is_zero_(padding == "zero") {
    begin(std::move(first));
  }
  void begin(std::vector<float> first) {
    const std::vector<float> padding = is_zero_ ? std::vector<float>(first.size()) : first;
    seen_.assign(static_cast<std::size_t>(k_ - 1), padding);
    seen_.push_back(std::move(first));
  }
  void add(std::vector<float> next) {
    seen_.pop_front();
    seen_.push_back(std::move(next));
  }
  std::vector<float> numbers() const {
    std::vector<float> out;
    for (const std::vector<float>& one : seen_) out.insert(out.end(), one.begin(), one.end());
    return out;
  }

 private:
  int k_;
  bool is_zero_;
  std::deque<std::vector<float>> seen_;
};

std::vector<float> numbers_of(const std::vector<float>& rows, std::size_t row, std::size_t width) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

std::vector<float> observed_now(const VecEnv& envs) {
  std::vector<float> out(static_cast<std::size_t>(envs.num_envs()) *
                         static_cast<std::size_t>(envs.spec().observation_size()));
  envs.observe(0, envs.num_envs(), out.data());
  return out;
}

std::vector<SlowHistory> histories(const VectorCase& c, const VecEnv& plain) {
  const auto width = static_cast<std::size_t>(plain.spec().observation_size());
  std::vector<SlowHistory> out;
  for (std::size_t n = 0; n < kPlayed; ++n) {
    out.emplace_back(c.k, c.padding, numbers_of(observed_now(plain), n, width));
  }
  return out;
}

class VectorStacks : public ::testing::TestWithParam<VectorCase> {};

TEST_P(VectorStacks, AreTheLastObservationsOfTheEpisode) {
  const VectorCase& c = GetParam();
  const std::unique_ptr<VecEnv> plain = plain_of(c), stacked = stacked_of(c);
  const auto one = static_cast<std::size_t>(plain->spec().observation_size());
  const std::size_t width = one * static_cast<std::size_t>(c.k);
  ASSERT_EQ(stacked->spec().observation_size(), static_cast<int>(width));
  std::vector<SlowHistory> slow = histories(c, *plain);
  for (std::size_t n = 0; n < kPlayed; ++n) {
    EXPECT_EQ(numbers_of(observed_now(*stacked), n, width), slow[n].numbers());
  }
  int ended = 0;
  for (const int shard : {kPlayed, 3, 1}) {
    const Rollout a = roll(*plain, 40 * shard, 40, kPlayed);
    const Rollout b = roll(*stacked, 40 * shard, 40, shard);
    EXPECT_EQ(a.rewards, b.rewards);
    EXPECT_EQ(a.terminated, b.terminated);
    EXPECT_EQ(a.truncated, b.truncated);
    EXPECT_EQ(a.ends, b.ends);
    EXPECT_EQ(a.critic_observations, b.critic_observations);  // of now, if there are any
    EXPECT_EQ(a.final_critic_observations, b.final_critic_observations);
    for (std::size_t i = 0; i < a.rewards.size(); ++i) {
      SlowHistory& history = slow[i % kPlayed];
      std::vector<float> last(width, StepObservations::kUntouched);
      if ((a.terminated[i] | a.truncated[i]) != 0) {
        history.add(numbers_of(a.final_observations, i, one));
        last = history.numbers();
        history.begin(numbers_of(a.observations, i, one));
        ++ended;
      } else {
        history.add(numbers_of(a.observations, i, one));
      }
      ASSERT_EQ(numbers_of(b.final_observations, i, width), last);
      ASSERT_EQ(numbers_of(b.observations, i, width), history.numbers()) << shard << ", row " << i;
    }
  }
  EXPECT_GT(ended, 20);
}

TEST_P(VectorStacks, AreSavedAndRestored) {
  const std::unique_ptr<VecEnv> stacked = stacked_of(GetParam()), other = stacked_of(GetParam());
  (void)roll(*stacked, 0, 31, kPlayed);
  (void)roll(*other, 0, 3, kPlayed);
  copy_state(*stacked, *other);
  ASSERT_TRUE(other->state_restored().ok());
  EXPECT_EQ(observed_now(*stacked), observed_now(*other));
  EXPECT_EQ(roll(*stacked, 31, 40, kPlayed), roll(*other, 31, 40, 3));
}

TEST_P(VectorStacks, PassTheConformanceChecks) {
  EXPECT_TRUE(register_observation_envs());
  const VectorCase& c = GetParam();
  Overrides options = c.options;
  options.emplace_back("frame_stack", std::to_string(c.k));
  options.emplace_back("frame_padding", c.padding);
  const ConformanceReport report =
      check_vec_env([&](const VecEnvOptions& asked) { return make_vec_env(c.id, options, asked); });
  EXPECT_EQ(report.findings(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, VectorStacks,
    ::testing::Values(VectorCase{"CartPole-v1", 2, "first"}, VectorCase{"CartPole-v1", 4, "zero"},
                      VectorCase{"CartPole-v1", 3, "first", {{"hide_obs", "1,3"}}},
                      VectorCase{
                          "CartPole-v1", 3, "first", {{"hide_obs", "1"}, {"hide_from", "policy"}}},
                      VectorCase{"Pendulum-v1", 5, "first", {}, true},
                      VectorCase{"Acrobot-v1", 17, "zero", {}, true},
                      VectorCase{"Windy-v0", 4, "first"}));

// Each observation keeps the noise with which it was seen.
TEST(VectorStack, KeepsTheNoiseOfEachObservation) {
  const VectorCase c{"CartPole-v1", 3, "first", {{"disturb.obs_noise", "0.3"}}};
  const std::unique_ptr<VecEnv> plain = plain_of(c), stacked = stacked_of(c);
  std::vector<SlowHistory> slow = histories(c, *plain);
  const Rollout a = roll(*plain, 0, 60, kPlayed), b = roll(*stacked, 0, 60, 3);
  for (std::size_t i = 0; i < a.rewards.size(); ++i) {
    SlowHistory& history = slow[i % kPlayed];
    if ((a.terminated[i] | a.truncated[i]) != 0) {
      history.begin(numbers_of(a.observations, i, 4));
    } else {
      history.add(numbers_of(a.observations, i, 4));
    }
    ASSERT_EQ(numbers_of(b.observations, i, 12), history.numbers()) << i;
  }
}

// A reset that takes a step begins a history. Until then the last one is shown.
TEST(VectorStack, BeginsAfterAResetThatTakesAStep) {
  const VectorCase c{"CartPole-v1", 3, "first"};
  NextStep plain(plain_of(c), "Late-v0", true);
  const std::unique_ptr<VecEnv> stacked =
      stack_frames(std::make_unique<NextStep>(plain_of(c), "Late-v0", true), {.frame_stack = c.k});
  std::vector<SlowHistory> slow = histories(c, plain);
  int fillers = 0;
  for (int t = 0; t < 80; ++t) {
    std::vector<bool> begins;
    for (int n = 0; n < kPlayed; ++n) begins.push_back(plain.next_is_filler(n));
    const Rollout a = roll(plain, t, 1, kPlayed), b = roll(*stacked, t, 1, 2);
    for (std::size_t n = 0; n < kPlayed; ++n) {
      if (begins[n]) {
        slow[n].begin(numbers_of(a.observations, n, 4));
        ++fillers;
      } else {
        slow[n].add(numbers_of(a.observations, n, 4));
      }
      ASSERT_EQ(numbers_of(b.observations, n, 12), slow[n].numbers()) << t;
      if ((a.terminated[n] | a.truncated[n]) == 0) continue;
      ASSERT_EQ(numbers_of(b.final_observations, n, 12), slow[n].numbers()) << t;
    }
    ASSERT_EQ(observed_now(*stacked), b.observations);
  }
  EXPECT_GT(fillers, 20);
}

TEST(VectorStack, IsInTheSpec) {
  const EnvSpec spec = env_spec("Pendulum-v1", {{"frame_stack", "2"}}).value();
  EXPECT_EQ(shape_text(spec.observation), "Box(6; 2 frames)");
  EXPECT_EQ(spec.observation.high, (std::vector<float>{1, 1, 8, 1, 1, 8}));
  EXPECT_EQ(spec.observation.low, (std::vector<float>{-1, -1, -8, -1, -1, -8}));
  EXPECT_EQ(spec.observation.frame_layout(), (FrameLayout{2, 3, FramePadding::kFirst}));
  EXPECT_FALSE(spec.has_score_range);
  Space wide = spec.observation;
  wide.frames = 1;
  EXPECT_FALSE(same_shape(wide, spec.observation));
  const std::vector<FieldInfo> options = list_env_options("Pendulum-v1").value();
  EXPECT_TRUE(std::any_of(options.begin(), options.end(),
                          [](const FieldInfo& field) { return field.name == "frame_stack"; }));
}

// Zeros are within the bounds, which may exclude them before.
TEST(VectorStack, OfZerosWidensTheBounds) {
  EnvSpec spec;
  spec.observation = Space::box({1.0f, -3.0f}, {2.0f, -2.0f});
  EnvSpec repeated = spec;
  ASSERT_TRUE(describe_frame_stack({.frame_stack = 2}, repeated).ok());
  EXPECT_EQ(repeated.observation.low, (std::vector<float>{1, -3, 1, -3}));
  ASSERT_TRUE(describe_frame_stack({.frame_stack = 2, .frame_padding = "zero"}, spec).ok());
  EXPECT_EQ(spec.observation.low, (std::vector<float>{0, -3, 0, -3}));
  EXPECT_EQ(spec.observation.high, (std::vector<float>{2, 0, 2, 0}));
}

TEST(VectorStack, OfGridsJoinsThemByChannels) {
  EnvSpec spec;
  spec.observation = Space::box({1, 2, 3, 4}, {5, 6, 7, 8});
  spec.observation.shape = {2, 2};
  ASSERT_TRUE(describe_frame_stack({.frame_stack = 2}, spec).ok());
  EXPECT_EQ(spec.observation.shape, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(spec.observation.low, (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(VectorStack, RefusesWhatDoesNotFit) {
  const auto refusal = [](Space space, int k) {
    EnvSpec spec;
    spec.id = "Odd-v0";
    spec.observation = std::move(space);
    return describe_frame_stack({.frame_stack = k}, spec).message();
  };
  const auto wide = [](int size) {
    return Space::box(std::vector<float>(static_cast<std::size_t>(size)),
                      std::vector<float>(static_cast<std::size_t>(size), 1.0f));
  };
  Space deep = wide(16);
  deep.shape = {2, 2, 2, 2};
  EXPECT_NE(refusal(deep, 2).find("at most three dimensions"), std::string::npos);
  EXPECT_EQ(refusal(wide(1 << 14), 64), "");
  EXPECT_NE(refusal(wide((1 << 14) + 1), 64).find("at most 1048576 numbers"), std::string::npos);
  EXPECT_EQ(refusal(Space::bytes({128}), 32), "");
  EXPECT_NE(refusal(Space::bytes({128}), 33).find("at most 4096 numbers"), std::string::npos);
  Space stacked = wide(6);
  stacked.frames = 2;
  EXPECT_NE(refusal(stacked, 2).find("Box(6; 2 frames)"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
