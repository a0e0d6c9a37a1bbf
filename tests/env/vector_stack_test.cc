// Compares stacks of vectors and of groups with stacks made slowly from the environment's own
// observations.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/frame_stack.h"
#include "tests/env/next_step.h"
#include "tests/env/observation_envs.h"
#include "tests/env/rollout.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

constexpr int kPlayed = 7;

// A dictionary with each kind of group: images of two channels and of grey, a vector, a choice.
struct Mixed {
  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t seed;
  };
  static constexpr auto members = std::tuple{&State::seed};
  static constexpr int kObservationSize = 21, kActionSize = 1;

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Mixed-v0";
    spec.observation = Space::grouped({{"image", Space::bytes({2, 3, 2})},
                                       {"grey", Space::bytes({2, 2}, 7)},
                                       {"pose", Space::box({1.0f, -3.0f}, {2.0f, -2.0f})},
                                       {"gear", Space::discrete(3)}});
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 30;
    spec.summary = "Numbers that differ from step to step.";
    return spec;
  }
  static void reset(const Params&, State& state, Random& random) {
    state.seed = static_cast<std::int32_t>(random.below(1000));
  }
  static StepResult step(const Params&, State& state, const float*, Random& random) {
    state.seed = static_cast<std::int32_t>(random.below(1000));
    return {0.5, static_cast<std::uint8_t>(state.seed % 9 == 0)};
  }
  static void observe(const Params&, const State& state, float* out) {
    for (int i = 0; i < 12; ++i) out[i] = static_cast<float>((state.seed + 37 * i) % 256);
    for (int i = 12; i < 16; ++i) out[i] = static_cast<float>((state.seed + 3 * i) % 8);
    out[16] = 1.0f + static_cast<float>(state.seed) * 1e-3f;
    out[17] = -2.0f - static_cast<float>(state.seed) * 1e-3f;
    for (int i = 0; i < 3; ++i) out[18 + i] = state.seed % 3 == i ? 1.0f : 0.0f;
  }
};

bool register_all() {
  static const bool done = register_environment(make_entry<Mixed>()).ok();
  return done && register_observation_envs();
}

struct VectorCase {
  const char* id;
  int k;  // of the longest stack
  const char* padding;
  Overrides options = {};  // of both environments
  bool staggered = false;
  const char* stacks = nullptr;  // frame_stack_of; null: frame_stack = k
};

Overrides stacked_options(const VectorCase& c) {
  Overrides options = c.options;
  options.emplace_back(c.stacks == nullptr ? "frame_stack" : "frame_stack_of",
                       c.stacks == nullptr ? std::to_string(c.k) : c.stacks);
  options.emplace_back("frame_padding", c.padding);
  return options;
}

VecEnvOptions played(const VectorCase& c) {
  return {.num_envs = kPlayed,
          .seed = 4,
          .stagger_starts = c.staggered,
          .max_episode_steps = c.staggered ? 23 : 12};
}

std::unique_ptr<VecEnv> plain_of(const VectorCase& c) {
  EXPECT_TRUE(register_all());
  return make(c.id, played(c), c.options);
}

std::unique_ptr<VecEnv> stacked_of(const VectorCase& c) {
  EXPECT_TRUE(register_all());
  return make(c.id, played(c), stacked_options(c));
}

// Numbers of a frame whose stack lies together: those of each pixel, which has `channels`.
struct SlowGroup {
  int first, size, channels, count;
};

std::vector<SlowGroup> slow_groups(const VectorCase& c, const Space& space) {
  if (space.groups.empty()) return {{0, space.size, space.size, c.k}};
  std::vector<SlowGroup> out;
  for (const ObservationGroup& group : space.groups) {
    const std::string text = std::string(",") + (c.stacks == nullptr ? "" : c.stacks);
    const std::size_t place = text.rfind("," + group.name + ":");
    const int named =
        place == std::string::npos ? 1 : std::stoi(text.substr(place + group.name.size() + 2));
    const int channels = group.shape.size() == 3   ? group.shape[2]
                         : group.shape.size() == 2 ? 1
                                                   : group.size;
    out.push_back({group.first, group.size, channels, c.stacks == nullptr ? c.k : named});
  }
  return out;
}

// The last k observations of one environment, oldest first.
class SlowHistory {
 public:
  SlowHistory(const VectorCase& c, const Space& space, std::vector<float> first)
      : k_(c.k), is_zero_(std::string(c.padding) == "zero"), groups_(slow_groups(c, space)) {
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
    for (const SlowGroup& group : groups_) {
      for (int i = group.first; i < group.first + group.size; i += group.channels) {
        for (auto one = seen_.end() - group.count; one != seen_.end(); ++one) {
          out.insert(out.end(), one->begin() + i, one->begin() + i + group.channels);
        }
      }
    }
    return out;
  }

 private:
  int k_;
  bool is_zero_;
  std::vector<SlowGroup> groups_;
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
    out.emplace_back(c, plain.spec().observation, numbers_of(observed_now(plain), n, width));
  }
  return out;
}

class VectorStacks : public ::testing::TestWithParam<VectorCase> {};

TEST_P(VectorStacks, AreTheLastObservationsOfTheEpisode) {
  const VectorCase& c = GetParam();
  const std::unique_ptr<VecEnv> plain = plain_of(c), stacked = stacked_of(c);
  const auto one = static_cast<std::size_t>(plain->spec().observation_size());
  std::vector<SlowHistory> slow = histories(c, *plain);
  const std::size_t width = slow.front().numbers().size();
  ASSERT_EQ(stacked->spec().observation_size(), static_cast<int>(width));
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
  const VectorCase& c = GetParam();
  if (c.k > 16) RELEASE_ONLY("long episodes of many numbers; the other kinds run the same code");
  EXPECT_TRUE(register_all());
  const ConformanceReport report = check_vec_env(
      [&](const VecEnvOptions& asked) { return make_vec_env(c.id, stacked_options(c), asked); });
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
                      VectorCase{"Windy-v0", 4, "first"}, VectorCase{"Mixed-v0", 3, "first"},
                      VectorCase{"Mixed-v0", 4, "zero", {}, true, "image:2,gear:4,image:3"},
                      VectorCase{"Mixed-v0", 1, "zero", {}, false, "pose:1"},
                      VectorCase{"Mixed-v0",
                                 2,
                                 "first",
                                 {{"disturb.obs_delay_of", "image:2,pose:0..3"}},
                                 false,
                                 "grey:2,pose:2"},
                      VectorCase{"Turntable-v0", 3, "zero", {}, false, "turn:3"}));

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
void expect_histories_after_late_resets(const VectorCase& c, const FrameStack& frames) {
  NextStep plain(plain_of(c), "Late-v0", true);
  const std::unique_ptr<VecEnv> stacked =
      stack_frames(std::make_unique<NextStep>(plain_of(c), "Late-v0", true), frames);
  std::vector<SlowHistory> slow = histories(c, plain);
  const auto one = static_cast<std::size_t>(plain.spec().observation_size());
  const std::size_t width = slow.front().numbers().size();
  int fillers = 0;
  for (int t = 0; t < 80; ++t) {
    std::vector<bool> begins;
    for (int n = 0; n < kPlayed; ++n) begins.push_back(plain.next_is_filler(n));
    const Rollout a = roll(plain, t, 1, kPlayed), b = roll(*stacked, t, 1, 2);
    for (std::size_t n = 0; n < kPlayed; ++n) {
      if (begins[n]) {
        slow[n].begin(numbers_of(a.observations, n, one));
        ++fillers;
      } else {
        slow[n].add(numbers_of(a.observations, n, one));
      }
      ASSERT_EQ(numbers_of(b.observations, n, width), slow[n].numbers()) << t;
      if ((a.terminated[n] | a.truncated[n]) == 0) continue;
      ASSERT_EQ(numbers_of(b.final_observations, n, width), slow[n].numbers()) << t;
    }
    ASSERT_EQ(observed_now(*stacked), b.observations);
  }
  EXPECT_GT(fillers, 20);
}

TEST(VectorStack, BeginsAfterAResetThatTakesAStep) {
  expect_histories_after_late_resets({"CartPole-v1", 3, "first"}, {.frame_stack = 3});
  expect_histories_after_late_resets({"Mixed-v0", 2, "first", {}, false, "pose:2"},
                                     {.frame_stack_of = {"pose:2"}});
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

// Shapes, types and bounds of groups. A stack of choices is a vector of bytes.
TEST(VectorStack, OfGroupsIsInTheSpec) {
  ASSERT_TRUE(register_all());
  const auto seen = [](const Overrides& options) {
    return env_spec("Mixed-v0", options).value().observation;
  };
  EXPECT_EQ(shape_text(seen({{"frame_stack", "2"}})),
            "Dict(image: 2 x 3 x 4; uint8, grey: 2 x 2 x 2; uint8 to 7, pose: 4, gear: 6; uint8 to "
            "1)");
  const Space two = seen({{"frame_stack_of", "pose:3,grey:1"}, {"frame_padding", "zero"}});
  EXPECT_EQ(shape_text(two),
            "Dict(image: 2 x 3 x 2; uint8, grey: 2 x 2; uint8 to 7, pose: 6, gear: 3; one-hot)");
  EXPECT_EQ(two.size, 25);
  EXPECT_EQ(two.groups[3].first, 22);
  const auto numbers = [](const std::vector<float>& bounds) {
    return std::vector<float>(bounds.begin() + 15, bounds.begin() + 24);
  };
  EXPECT_EQ(numbers(two.low), (std::vector<float>{0, 0, -3, 0, -3, 0, -3, 0, 0}));
  EXPECT_EQ(numbers(two.high), (std::vector<float>{7, 2, 0, 2, 0, 2, 0, 1, 1}));
  const std::vector<FieldInfo> options = list_env_options("Mixed-v0").value();
  EXPECT_TRUE(std::any_of(options.begin(), options.end(),
                          [](const FieldInfo& field) { return field.name == "frame_stack_of"; }));
}

TEST(VectorStack, RefusesGroupsThatDoNotFit) {
  ASSERT_TRUE(register_all());
  const auto refusal = [](const char* id, const Overrides& options) {
    return env_spec(id, options).status().message();
  };
  EXPECT_NE(refusal("Mixed-v0", {{"frame_stack_of", "state:2"}}).find("there is no such group"),
            std::string::npos);
  for (const char* text :
       {"pose", "pose:", "pose:0", "pose:65", "pose:-1", "pose:2..3", "pose:x"}) {
    EXPECT_NE(refusal("Mixed-v0", {{"frame_stack_of", text}})
                  .find("expected a group and a stack of 1 to 64, as image:4"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(
      refusal("CartPole-v1", {{"frame_stack_of", "image:2"}}),
      "env.frame_stack_of: got 'image:2', but there are no groups, and env.frame_stack stacks "
      "the whole; observations of CartPole-v1 are Box(4)");
  EXPECT_NE(refusal("Mixed-v0", {{"frame_stack_of", "pose:2"}, {"frame_stack", "3"}})
                .find("env.frame_stack_of: got pose:2, beside env.frame_stack = 3"),
            std::string::npos);
  EXPECT_NE(refusal("Taxi-v3", {{"frame_stack_of", "a:2"}}).find("Discrete(500)"),
            std::string::npos);
  const auto alone = [](const Space& part) {
    EnvSpec spec;
    spec.id = "Odd-v0";
    spec.observation = Space::grouped({{"part", part}});
    return describe_frame_stack({.frame_stack_of = {"part:33"}}, spec).message();
  };
  EXPECT_EQ(alone(Space::bytes({2, 2, 124})), "");
  EXPECT_NE(alone(Space::bytes({2, 2, 125}))
                .find("125 channels, observations of group 'part' of "
                      "Odd-v0; expected at most 4096 numbers"),
            std::string::npos);
  EXPECT_NE(alone(Space::bytes({2, 2, 2, 2}))
                .find("at most three dimensions; env.frame_stack_of stacks others"),
            std::string::npos);
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
