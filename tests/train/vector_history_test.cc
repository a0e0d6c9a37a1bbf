// Runs on stacks of vectors have the bits of runs on an environment that remembers its own
// observations, the slow and simple form.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/env/frame_stack.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/trainer.h"
#include "tests/env/next_step.h"
#include "tests/golden/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

// CartPole-v1 that shows its last three observations, oldest first.
template <bool kZeroPadded>
struct RememberingPole {
  using Params = CartPole::Params;
  using Options = Params;
  struct State {
    double x, x_dot, theta, theta_dot;
    std::array<float, 12> seen;
  };
  static constexpr auto members =
      std::tuple{&State::x, &State::x_dot, &State::theta, &State::theta_dot, &State::seen};
  static constexpr std::array end_reasons = CartPole::end_reasons;

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    EnvSpec spec = CartPole::spec(params);
    std::vector<float> low, high;
    for (int i = 0; i < 3; ++i) {
      low.insert(low.end(), spec.observation.low.begin(), spec.observation.low.end());
      high.insert(high.end(), spec.observation.high.begin(), spec.observation.high.end());
    }
    spec.id = kZeroPadded ? "ZeroPole-v0" : "FirstPole-v0";
    spec.observation = Space::box(low, high);
    spec.has_score_range = false;
    spec.upstream = "";
    return spec;
  }
  static CartPole::State pole(const State& state) {
    return {state.x, state.x_dot, state.theta, state.theta_dot};
  }
  static void keep(const CartPole::State& pole, State& state) {
    state.x = pole.x;
    state.x_dot = pole.x_dot;
    state.theta = pole.theta;
    state.theta_dot = pole.theta_dot;
    CartPole::observe({}, pole, &state.seen[8]);
  }
  static void reset(const Params& params, State& state, Random& random) {
    CartPole::State first{};
    CartPole::reset(params, first, random);
    keep(first, state);
    for (std::size_t i = 0; i < 8; ++i) state.seen[i] = kZeroPadded ? 0.0f : state.seen[8 + i % 4];
  }
  static StepResult step(const Params& params, State& state, const float* action, Random& random) {
    CartPole::State next = pole(state);
    const StepResult result = CartPole::step(params, next, action, random);
    for (std::size_t i = 0; i < 8; ++i) state.seen[i] = state.seen[i + 4];
    keep(next, state);
    return result;
  }
  static void observe(const Params&, const State& state, float* out) {
    for (const float number : state.seen) *out++ = number;
  }
  static int end_reason(const Params& params, const State& last) {
    return CartPole::end_reason(params, pole(last));
  }
  static bool success(const Params& params, const State& last, bool terminated, bool truncated) {
    return CartPole::success(params, pole(last), terminated, truncated);
  }
};

bool register_poles() {
  static const bool done = register_environment(make_entry<RememberingPole<false>>()).ok() &&
                           register_environment(make_entry<RememberingPole<true>>()).ok();
  return done;
}

const Overrides kStack{{"env_id", "CartPole-v1"}, {"env.frame_stack", "3"}};

Config history_config(const Overrides& env, const Overrides& more) {
  EXPECT_TRUE(register_poles());
  const Overrides usual{{"num_envs", "37"},
                        {"num_steps", "13"},
                        {"num_minibatches", "3"},
                        {"update_epochs", "2"},
                        {"hidden_sizes", "16,8"},
                        {"norm_obs", "true"},
                        {"total_timesteps", "200000"},
                        {"max_episode_steps", "15"}};
  return resolved(add_overrides(add_overrides(env, usual), more));
}

// All that was learnt and reported, without the environments' own state.
std::string learnt_from(Trainer& trainer) {
  std::string out;
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.name.rfind("envs.", 0) == 0) continue;
    out += tensor.name;
    out.append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  visit_numbers(trainer.report(), [&](const NumberInfo& info, double value) {
    out += info.name + std::to_string(value);
  });
  return out;
}

struct HistoryRun {
  const char* name;
  Overrides overrides;
  bool is_zero_padded = false;
};

class HistoryOf : public ::testing::TestWithParam<HistoryRun> {};

TEST_P(HistoryOf, HasTheBitsOfAnEnvironmentThatRemembers) {
  const HistoryRun& run = GetParam();
  const char* const slow = run.is_zero_padded ? "ZeroPole-v0" : "FirstPole-v0";
  const std::unique_ptr<Trainer> whole =
      trainer_of(history_config({{"env_id", slow}}, run.overrides), 1);
  Overrides more = run.overrides;
  if (run.is_zero_padded) more.emplace_back("env.frame_padding", "zero");
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const int threads : {1, 2, 5}) {
    trainers.push_back(trainer_of(history_config(kStack, more), threads));
  }
  int truncated = 0, terminated = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(whole->iterate().ok());
    const RolloutBlock& block = whole->block();
    for (const std::uint8_t cut : block.truncated) truncated += cut;
    for (const std::uint8_t end : block.terminated) terminated += end;
    for (const std::unique_ptr<Trainer>& trainer : trainers) {
      ASSERT_TRUE(trainer->iterate().ok());
      ASSERT_TRUE(trainer->block().observations.floats().size() ==
                  block.observations.floats().size());
      ASSERT_TRUE(std::equal(block.observations.floats().begin(), block.observations.floats().end(),
                             trainer->block().observations.floats().begin()))
          << i;
      ASSERT_TRUE(learnt_from(*trainer) == learnt_from(*whole)) << i;
    }
  }
  EXPECT_GT(truncated, 0);
  EXPECT_GT(terminated, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, HistoryOf,
    ::testing::Values(HistoryRun{"wide", {}}, HistoryRun{"zeros", {}, true},
                      HistoryRun{
                          "of_two_steps",
                          {{"num_steps", "2"}, {"num_envs", "48"}, {"max_episode_steps", "9"}}},
                      HistoryRun{"cut", {{"truncation_mode", "as_termination"}}},
                      HistoryRun{"action_values", {{"algorithm", "pqn"}}},
                      HistoryRun{"memory", {{"recurrent", "gru"}}},
                      HistoryRun{"families", {{"num_envs", "36"}, {"seed_families", "6"}}}),
    [](const ::testing::TestParamInfo<HistoryRun>& info) { return std::string(info.param.name); });

// Runs with other numbers of threads, from the first one's checkpoint.
void expect_to_go_on(const Config& config, int critic_size) {
  const golden::Folder folder("history_resume");
  const std::unique_ptr<Trainer> whole = trainer_of(config, 2), second = trainer_of(config, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(whole->iterate().ok());
  const std::string path = folder.at("state.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *whole, {}).ok());
  const Status restored = restore(read_checkpoint(path).value(), *second);
  ASSERT_TRUE(restored.ok()) << restored.message();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(whole->iterate().ok());
    ASSERT_TRUE(second->iterate().ok());
    EXPECT_EQ(learnt_from(*whole), learnt_from(*second));
  }
  EXPECT_EQ(bytes_of(*whole), bytes_of(*second));
  EXPECT_EQ(whole->block().critic_observations.type().size, critic_size);
}

const Overrides kStackOfGroups{{"env_id", "Turntable-v0"},
                               {"env.frame_stack_of", "image:3,turn:2"}};

TEST(History, GoesOnFromACheckpoint) {
  constexpr int kNotStacked = 4, kNone = 0;
  expect_to_go_on(history_config(kStack, {{"env.hide_obs", "1,3"},
                                          {"env.hide_from", "policy"},
                                          {"stagger_starts", "true"}}),
                  kNotStacked);
  expect_to_go_on(history_config(kStackOfGroups, {{"disturb.obs_delay_of", "image:1,turn:0..2"},
                                                  {"disturb.obs_noise_of", "turn:0.1"}}),
                  kNone);
}

TEST(History, IsPlayedAsItWasTrained) {
  const golden::Folder folder("history_policy");
  const std::unique_ptr<Trainer> trainer = trainer_of(history_config(kStack, {}), 2);
  ASSERT_TRUE(trainer->iterate().ok());
  const std::string path = folder.at("policy.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *trainer, {}).ok());
  const std::unique_ptr<LoadedPolicy> loaded =
      LoadedPolicy::load(find_checkpoint(path).value()).take();
  EXPECT_EQ(shape_text(loaded->view().spec.observation), "Box(12; 3 frames)");
  const EvalOptions options{.episodes = 20, .seed = 3, .actions = EvalActions::kSampled};
  const std::vector<EvalEpisode> a = play_episodes(loaded->view(), options).take();
  const std::vector<EvalEpisode> b = play_episodes(trainer->policy(), options).take();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].length, b[i].length);
}

TEST(History, IsInTheContract) {
  const RolloutContract plain =
      make_contract(history_config({{"env_id", "CartPole-v1"}}, {}), 2).take();
  const RolloutContract contract = make_contract(history_config(kStack, {}), 2).take();
  EXPECT_FALSE(plain.observation.has_value());
  EXPECT_EQ(contract.observation->frames, 3);
  // Stored whole: two more observations of four floats for each of the block's steps, and for a
  // final observation of each environment.
  EXPECT_EQ(contract.memory.block - plain.memory.block, 37 * (13 + 1) * 2 * 4 * sizeof(float));
  const std::string text = contract_text(contract);
  EXPECT_NE(text.find("float32 of shape (12), the last 3 observations"), std::string::npos) << text;
}

TEST(History, OfGroupsIsInTheContract) {
  const RolloutContract contract = make_contract(history_config(kStackOfGroups, {}), 2).take();
  EXPECT_FALSE(contract.observation.has_value());
  EXPECT_EQ(contract.groups[0].observed.frames, 3);
  EXPECT_EQ(contract.groups[1].observed.frames, 2);
  const std::string text = contract_text(contract);
  EXPECT_NE(text.find("uint8 of shape (6, 6, 3), the last 3 observations"), std::string::npos)
      << text;
}

// Rows of resets are no transitions, and no history goes on across them.
TEST(History, LearnsFromSimulatorsWhoseResetTakesAStep) {
  const Config config = history_config({{"env_id", "CartPole-v1"}}, {});
  const auto trainer_with = [&](int threads) {
    return trainer_on(
        config,
        stack_frames(std::make_unique<NextStep>(envs_of(config), config.env_id, false),
                     {.frame_stack = 3}),
        threads);
  };
  const std::unique_ptr<Trainer> one = trainer_with(1), five = trainer_with(5);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(one->iterate().ok());
    ASSERT_TRUE(five->iterate().ok());
    EXPECT_GT(*one->report().filler_rows, 0);
    EXPECT_EQ(learnt_from(*one), learnt_from(*five));
  }
}

}  // namespace
}  // namespace broadloom
