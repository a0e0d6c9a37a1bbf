// Actions scaled from [-1, 1] to the bounds of the environment's Box.
#include "broadloom/env/action_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

// The task: set a valve, which opens from `low` to `high`, to `target`. It observes the last
// setting.
struct Valve {
  struct Params {
    double low = 5.0, high = 35.0, target = 20.0;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("low", low, Range{-1e6, 1e6}, "Least opening.");
      v("high", high, Range{-1e6, 1e6}, "Largest opening.");
      v("target", target, Range{-1e6, 1e6}, "Best opening.");
    }
  };
  using Options = Params;
  struct State {
    double opening;
  };
  static constexpr auto members = std::tuple{&State::opening};

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    constexpr float kAny = std::numeric_limits<float>::infinity();
    EnvSpec spec;
    spec.id = "Valve-v0";
    spec.observation = Space::box({-kAny}, {kAny});
    spec.action = Space::box({static_cast<float>(params.low)}, {static_cast<float>(params.high)});
    spec.max_episode_steps = 10;
    return spec;
  }
  static void reset(const Params&, State& state, Random&) { state.opening = 0.0; }
  static StepResult step(const Params& params, State& state, const float* action, Random&) {
    state.opening = static_cast<double>(action[0]);
    const double off = (state.opening - params.target) / (params.high - params.low);
    return {-off * off, 0};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.opening);
  }
};

class ScaledActions : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(register_environment<Valve>("Valve-v0").ok()); }
};

// The opening of the valve for each action.
std::vector<float> openings(const Overrides& options, const std::vector<float>& actions) {
  const int count = static_cast<int>(actions.size());
  const auto envs = make_vec_env("Valve-v0", options, {.num_envs = count}).take();
  std::vector<float> shown(actions.size()), rewards(actions.size()), last(actions.size());
  std::vector<std::uint8_t> terminated(actions.size()), truncated(actions.size());
  // In two calls, since results must not depend on the range.
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, count}}) {
    const StepRows rows{.actions = actions.data() + begin,
                        .observations = shown.data() + begin,
                        .rewards = rewards.data() + begin,
                        .terminated = terminated.data() + begin,
                        .truncated = truncated.data() + begin,
                        .final_observations = last.data() + begin};
    EXPECT_TRUE(envs->step(begin, end, rows).ok());
  }
  return shown;
}

TEST_F(ScaledActions, ReachTheBoundsAndTheMiddle) {
  const Overrides scaled{{"scale_actions", "true"}};
  EXPECT_EQ(openings(scaled, {-1.0f, 0.0f, 0.5f, 1.0f, 3.0f, -7.0f}),
            (std::vector<float>{5.0f, 20.0f, 27.5f, 35.0f, 35.0f, 5.0f}));
  EXPECT_EQ(openings({}, {6.0f, 20.0f}), (std::vector<float>{6.0f, 20.0f}));
  const Space action = env_spec("Valve-v0", scaled).value().action;
  EXPECT_EQ(action.low, std::vector<float>{-1.0f});
  EXPECT_EQ(action.high, std::vector<float>{1.0f});
  EXPECT_EQ(action.own_low, std::vector<float>{5.0f});
  EXPECT_EQ(action.own_high, std::vector<float>{35.0f});
}

TEST_F(ScaledActions, NeedFiniteBounds) {
  const Result<EnvSpec> discrete = env_spec("CartPole-v1", {{"scale_actions", "true"}});
  EXPECT_FALSE(discrete.ok());
  EnvSpec spec;
  spec.id = "Free-v0";
  spec.action = Space::box({0.0f}, {std::numeric_limits<float>::infinity()});
  const Status status = describe_action_scale({.scale_actions = true}, spec);
  EXPECT_NE(status.message().find("env.scale_actions"), std::string::npos) << status.message();
  EXPECT_TRUE(env_spec("Pendulum-v1", {{"scale_actions", "true"}}).ok());
}

std::string option_of(const Result<Config>& config) {
  if (!config.ok()) return config.status().message();
  for (const auto& [name, text] : config.value().env_options) {
    if (name == "scale_actions") return text;
  }
  return "";
}

// On by default for new runs if a new policy hardly reaches the bounds. Off for records and the
// library's own environments.
TEST_F(ScaledActions, AreTheDefaultWhereBoundsAreFar) {
  EXPECT_EQ(option_of(resolve_config({{"env_id", "Valve-v0"}})), "true");
  EXPECT_EQ(option_of(resolve_config({{"env_id", "Valve-v0"}, {"env.scale_actions", "false"}})),
            "false");
  EXPECT_EQ(
      option_of(resolve_config({{"env_id", "Valve-v0"}, {"env.low", "-2"}, {"env.high", "2"}})),
      "");
  EXPECT_EQ(
      option_of(resolve_config({{"env_id", "Valve-v0"}, {"env.low", "-500"}, {"env.high", "500"}})),
      "true");
  EXPECT_EQ(option_of(resolve_config({{"env_id", "Pendulum-v1"}})), "");
  EXPECT_EQ(option_of(resolve_record({{"env_id", "Valve-v0"}})), "");
  EXPECT_EQ(option_of(resolve_record({{"env_id", "Valve-v0"}, {"env.scale_actions", "true"}})),
            "true");
}

// Mean reward of a step in an evaluation after training.
double reached(const Overrides& more) {
  Overrides keys{{"env_id", "Valve-v0"},       {"num_envs", "16"},         {"num_steps", "32"},
                 {"total_timesteps", "20480"}, {"learning_rate", "0.003"}, {"norm_obs", "true"}};
  keys.insert(keys.end(), more.begin(), more.end());
  const Result<Config> config = resolve_config(keys);
  EXPECT_TRUE(config.ok()) << config.status().message();
  const auto trainer = Trainer::create(config.value(), 1).take();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(trainer->iterate().ok());
  return evaluate_policy(trainer->policy(), {.episodes = 5}).value().mean_return / 10.0;
}

// With bounds 5 to 35, a step at a bound pays -0.25, at the target 0.
TEST_F(ScaledActions, LearnWhatUnscaledOnesCannot) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  EXPECT_GT(reached({}), -0.01);
  EXPECT_NEAR(reached({{"env.scale_actions", "false"}}), -0.25, 1e-6);
}

}  // namespace
}  // namespace broadloom
