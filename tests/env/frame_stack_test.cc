// Compares frame stacks with stacks made slowly from the environment's own observations.
#include "broadloom/env/frame_stack.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/env_maker.h"
#include "tests/env/picture_envs.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

constexpr int kStacks = 7;
const VecEnvOptions kOfStacks{.num_envs = kStacks, .seed = 4, .max_episode_steps = 9};

struct Case {
  int k;
  int channels;
  const char* padding;
};

Overrides options_of(const Case& c, bool stacked) {
  Overrides out{{"channels", std::to_string(c.channels)}, {"marked", "true"}};
  if (!stacked) return out;
  out.emplace_back("frame_stack", std::to_string(c.k));
  out.emplace_back("frame_padding", c.padding);
  return out;
}

std::unique_ptr<VecEnv> volley(const Case& c, bool stacked, const VecEnvOptions& options) {
  EXPECT_TRUE(register_picture_envs());
  return make("Volley-v0", options, options_of(c, stacked));
}

// The last k frames of one environment, oldest first.
class SlowStack {
 public:
  SlowStack(const Case& c, std::vector<float> first) : case_(c) { begin(std::move(first)); }

  void begin(std::vector<float> frame) {
    const bool zero = std::string(case_.padding) == "zero";
    const std::vector<float> padding = zero ? std::vector<float>(frame.size()) : frame;
    frames_.assign(static_cast<std::size_t>(case_.k - 1), padding);
    frames_.push_back(std::move(frame));
  }
  void push(std::vector<float> frame) {
    frames_.pop_front();
    frames_.push_back(std::move(frame));
  }
  std::vector<float> numbers() const {
    std::vector<float> out;
    const std::size_t channels = static_cast<std::size_t>(case_.channels);
    for (std::size_t pixel = 0; pixel < frames_[0].size() / channels; ++pixel) {
      for (const std::vector<float>& frame : frames_) {
        for (std::size_t c = 0; c < channels; ++c) out.push_back(frame[pixel * channels + c]);
      }
    }
    return out;
  }

 private:
  Case case_;
  std::deque<std::vector<float>> frames_;
};

std::vector<float> row_of(const std::vector<float>& rows, std::size_t row, std::size_t width) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

std::vector<float> seen_now(const VecEnv& envs) {
  StepObservations rows(envs.spec().observation, envs.num_envs());
  envs.observe(0, envs.num_envs(), rows.rows_from(0));
  std::vector<float> out;
  rows.append_to(out);
  return out;
}

class Stacks : public ::testing::TestWithParam<Case> {};

TEST_P(Stacks, AreTheLastFramesOfTheEpisode) {
  const Case c = GetParam();
  const std::unique_ptr<VecEnv> plain = volley(c, false, kOfStacks);
  const std::unique_ptr<VecEnv> stacked = volley(c, true, kOfStacks);
  const std::size_t frame = static_cast<std::size_t>(plain->spec().observation_size());
  const std::size_t width = frame * static_cast<std::size_t>(c.k);
  ASSERT_EQ(stacked->spec().observation_size(), static_cast<int>(width));
  std::vector<SlowStack> slow;
  for (std::size_t n = 0; n < kStacks; ++n)
    slow.emplace_back(c, row_of(seen_now(*plain), n, frame));
  for (std::size_t n = 0; n < kStacks; ++n) {
    EXPECT_EQ(row_of(seen_now(*stacked), n, width), slow[n].numbers());
  }
  int ended = 0;
  for (const int shard : {kStacks, 3, 1}) {
    const int first = 40 * shard;
    const Rollout a = roll(*plain, first, 40, kStacks), b = roll(*stacked, first, 40, shard);
    EXPECT_EQ(a.rewards, b.rewards);
    EXPECT_EQ(a.terminated, b.terminated);
    EXPECT_EQ(a.truncated, b.truncated);
    EXPECT_EQ(a.ends, b.ends);
    for (std::size_t i = 0; i < a.rewards.size(); ++i) {
      SlowStack& stack = slow[i % kStacks];
      if ((a.terminated[i] | a.truncated[i]) != 0) {
        stack.push(row_of(a.final_observations, i, frame));
        ASSERT_EQ(row_of(b.final_observations, i, width), stack.numbers());
        stack.begin(row_of(a.observations, i, frame));
        ++ended;
      } else {
        stack.push(row_of(a.observations, i, frame));
        const std::vector<float> untouched(width, StepObservations::kUntouched);
        ASSERT_EQ(row_of(b.final_observations, i, width), untouched);
      }
      ASSERT_EQ(row_of(b.observations, i, width), stack.numbers()) << shard << ", row " << i;
    }
  }
  EXPECT_GT(ended, 50);
}

TEST_P(Stacks, AreSavedAndRestored) {
  const std::unique_ptr<VecEnv> stacked = volley(GetParam(), true, kOfStacks);
  const std::unique_ptr<VecEnv> other = volley(GetParam(), true, kOfStacks);
  (void)roll(*stacked, 0, 31, kStacks);
  (void)roll(*other, 0, 3, kStacks);
  copy_state(*stacked, *other);
  ASSERT_TRUE(other->state_restored().ok());
  EXPECT_EQ(seen_now(*stacked), seen_now(*other));
  EXPECT_EQ(roll(*stacked, 31, 40, kStacks), roll(*other, 31, 40, 3));
}

TEST_P(Stacks, PassTheConformanceChecks) {
  const ConformanceReport report =
      check_vec_env([](const VecEnvOptions& asked) -> Result<std::unique_ptr<VecEnv>> {
        return volley(GetParam(), true, asked);
      });
  EXPECT_EQ(report.findings(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Stacks,
                         ::testing::Values(Case{2, 1, "first"}, Case{3, 1, "zero"},
                                           Case{4, 1, "first"}, Case{4, 1, "zero"},
                                           Case{4, 3, "first"}, Case{7, 1, "first"},
                                           Case{5, 2, "zero"}));

constexpr Case kFour{4, 1, "first"};

TEST(FrameStack, IsKeptByAnother) {
  const std::unique_ptr<VecEnv> stacked = volley(kFour, true, kOfStacks);
  const std::unique_ptr<VecEnv> another = make_another(*stacked, kOfStacks);
  ASSERT_NE(another, nullptr);
  EXPECT_EQ(roll(*stacked, 0, 30, kStacks), roll(*another, 0, 30, kStacks));
}

TEST(FrameStack, BeginsAnewWithTheEnvironments) {
  // After begin_anew(), the first frames are as at construction.
  class Anew final : public ForwardingVecEnv {
   public:
    using ForwardingVecEnv::ForwardingVecEnv;
    Status begin_anew(std::uint64_t) override {
      const std::unique_ptr<VecEnv> made = make_another(inner(), kOfStacks);
      copy_state(*made, inner());
      return {};
    }
  };
  const std::unique_ptr<VecEnv> stacked =
      stack_frames(std::make_unique<Anew>(volley(kFour, false, kOfStacks)), {.frame_stack = 4});
  const std::vector<float> first = seen_now(*stacked);
  (void)roll(*stacked, 0, 5, kStacks);
  EXPECT_NE(seen_now(*stacked), first);
  ASSERT_TRUE(stacked->begin_anew(3).ok());
  EXPECT_EQ(seen_now(*stacked), first);
}

TEST(FrameStack, LeavesOneFrameAlone) {
  const std::unique_ptr<VecEnv> plain = volley(kFour, false, kOfStacks);
  const std::unique_ptr<VecEnv> one = volley({1, 1, "zero"}, true, kOfStacks);
  EXPECT_TRUE(same_shape(plain->spec().observation, one->spec().observation));
  EXPECT_EQ(roll(*plain, 0, 20, kStacks), roll(*one, 0, 20, kStacks));
  EXPECT_TRUE(make_vec_env("CartPole-v1", {{"frame_stack", "1"}}, {}).ok());
}

TEST(FrameStack, IsInTheSpec) {
  const EnvSpec spec = env_spec("MinAtar/Breakout-v1", {{"frame_stack", "3"}}).value();
  EXPECT_EQ(shape_text(spec.observation), "Box(10, 10, 12; uint8 to 1, 3 frames)");
  EXPECT_EQ(spec.observation.high, std::vector<float>(1200, 1.0f));
  EXPECT_EQ(spec.observation.low, std::vector<float>(1200, 0.0f));
  EXPECT_EQ(spec.observation.frame_layout(), (FrameLayout{3, 4, FramePadding::kFirst}));
  Space channels = spec.observation;
  channels.frames = 1;
  EXPECT_FALSE(same_shape(channels, spec.observation));
  const std::unique_ptr<VecEnv> made =
      make("MinAtar/Breakout-v1", {}, {{"frame_stack", "3"}, {"frame_padding", "zero"}});
  EXPECT_TRUE(same_shape(made->spec().observation, spec.observation));
  EXPECT_EQ(made->spec().observation.frame_padding, FramePadding::kZero);
  const auto names_it = [](const char* id) {
    const std::vector<FieldInfo> fields = list_env_options(id).value();
    return std::any_of(fields.begin(), fields.end(),
                       [](const FieldInfo& field) { return field.name == "frame_stack"; });
  };
  EXPECT_TRUE(names_it("MinAtar/Breakout-v1"));
  EXPECT_FALSE(names_it("Taxi-v3"));
}

// Bounds follow their numbers if channels differ. The score range is gone.
TEST(FrameStack, RepeatsBoundsByPixel) {
  EnvSpec spec;
  spec.has_score_range = true;
  spec.observation = Space::bytes({1, 2, 2});
  spec.observation.high = {1, 2, 3, 4};
  ASSERT_TRUE(describe_frame_stack({.frame_stack = 2}, spec).ok());
  EXPECT_EQ(spec.observation.high, (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_FALSE(spec.has_score_range);
}

TEST(FrameStack, RefusesOtherObservations) {
  const auto expect_error = [](const char* id, const Overrides& keys, const char* words) {
    for (const Status& status :
         {make_vec_env(id, keys, {.num_envs = 2}).status(), env_spec(id, keys).status()}) {
      EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
      EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }
  };
  expect_error("Taxi-v3", {{"frame_stack", "2"}}, "Discrete(500)");
  expect_error("MinAtar/Breakout-v1", {{"frame_stack", "0"}}, "env.frame_stack: got 0");
  expect_error("MinAtar/Breakout-v1", {{"frame_stack", "65"}}, "1 to 64");
  expect_error("MinAtar/Breakout-v1", {{"frame_padding", "none"}}, "env.frame_padding");
  expect_error("MinAtar/Breakout-v1", {{"frame_stak", "4"}}, "did you mean 'frame_stack'?");
  expect_error("MinAtar/Breakout-v1", {{"zzz", "4"}}, "use_minimal_action_set, frame_stack");
  EnvSpec spec;
  spec.id = "Deep";
  spec.observation = Space::bytes({1, 1, 100});
  EXPECT_FALSE(describe_frame_stack({.frame_stack = 64}, spec).ok());
  EXPECT_TRUE(describe_frame_stack({.frame_stack = 40}, spec).ok());
  EXPECT_FALSE(describe_frame_stack({.frame_stack = 2}, spec).ok());  // already a stack
}

// An environment with its own option of this name.
struct OwnStack : Volley {
  struct Params : Volley::Params {
    int frame_stack = 1;
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("frame_stack", frame_stack, Range{1, 9}, "Its own.");
    }
  };
  using Options = Params;
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    EnvSpec spec = Volley::spec(params);
    spec.max_episode_steps = 10 * params.frame_stack;
    return spec;
  }
};

TEST(FrameStack, LeavesAnOwnOptionToTheEnvironment) {
  ASSERT_TRUE(register_environment<OwnStack>("OwnStack-v0").ok());
  const EnvSpec spec = env_spec("OwnStack-v0", {{"frame_stack", "3"}}).value();
  EXPECT_EQ(spec.max_episode_steps, 30);
  EXPECT_EQ(spec.observation.frames, 1);
  const std::vector<FieldInfo> fields = list_env_options("OwnStack-v0").value();
  EXPECT_EQ(std::count_if(fields.begin(), fields.end(),
                          [](const FieldInfo& field) { return field.name == "frame_stack"; }),
            1);
}

// Simulators that wrongly declare frame stacks.
class NoStacks final : public ForwardingVecEnv {
 public:
  NoStacks(std::unique_ptr<VecEnv> inner, int frames, FramePadding padding)
      : ForwardingVecEnv(std::move(inner)), spec_(this->inner().spec()) {
    spec_.observation.frames = frames;
    spec_.observation.frame_padding = padding;
  }
  const EnvSpec& spec() const override { return spec_; }

 private:
  EnvSpec spec_;
};

std::string findings_of(const Case& made, int frames, FramePadding padding) {
  const ConformanceReport report =
      check_vec_env([&](const VecEnvOptions& asked) -> Result<std::unique_ptr<VecEnv>> {
        return std::unique_ptr<VecEnv>(
            std::make_unique<NoStacks>(volley(made, made.k > 1, asked), frames, padding));
      });
  std::string out;
  for (const std::string& finding : report.findings()) out += finding + "\n";
  return out;
}

TEST(FrameStack, ConformanceChecksFindFaults) {
  EXPECT_NE(findings_of({1, 4, "first"}, 4, FramePadding::kFirst).find("one new frame"),
            std::string::npos);
  EXPECT_NE(findings_of(kFour, 4, FramePadding::kZero).find("frame_padding"), std::string::npos);
  EXPECT_EQ(findings_of(kFour, 4, FramePadding::kFirst), "");
}

// Registration refuses stacks that cannot be.
TEST(FrameStack, IsCheckedAtRegistration) {
  const auto refused = [](const Space& space, const char* id) {
    EnvSpec spec = Volley::spec({});
    spec.id = id;
    spec.observation = space;
    const Status status = register_environment(simulator_entry(
        spec, [](const VecEnvOptions&) -> Result<std::unique_ptr<VecEnv>> { return {nullptr}; }));
    return status.ok() ? std::string() : status.message();
  };
  Space space = Space::bytes({2, 2, 4});
  space.frames = 3;
  EXPECT_NE(refused(space, "Odd-v0").find("a stack of 3 frames"), std::string::npos);
  space = Space::bytes({4, 4});
  space.frames = 4;
  EXPECT_NE(refused(space, "Flat-v0").find("a stack of 4 frames"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
