// Simulators loaded at run time: the conformance checks, and the errors for faulty ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/device_steps.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/setup/simulator.h"
#include "tests/support/folders.h"

namespace broadloom {
namespace {

// Allows the libraries, as a user would.
const Status kAllowed = allow_code(test_plugin_folder());

std::string id_of(const std::string& library, const std::string& task) {
  return std::string("plugin:") + test_plugin_folder() + "/lib" + library + ".so:" + task;
}

Result<std::unique_ptr<VecEnv>> make(const std::string& id, const VecEnvOptions& vec_options = {},
                                     const Overrides& options = {}) {
  return make_vec_env(id, options, vec_options);
}

std::string error_of(const std::string& id, const Overrides& options = {}) {
  const Result<std::unique_ptr<VecEnv>> made = make(id, {}, options);
  return made.ok() ? "" : made.status().message();
}

bool says(const std::string& message, const std::string& text) {
  return message.find(text) != std::string::npos;
}

// Rows for N environments of one float observation each, stepped with the first action.
struct Rows {
  explicit Rows(const VecEnv& envs)
      : count(static_cast<std::size_t>(envs.num_envs())),
        actions(count * envs.spec().action_size()),
        observations(count * envs.spec().observation_size()),
        finals(observations.size(), -7.0f),
        rewards(count),
        terminated(count),
        truncated(count),
        ends(count) {}
  StepRows get() {
    return {actions.data(),   observations.data(), rewards.data(), terminated.data(),
            truncated.data(), finals.data(),       ends.data()};
  }
  std::size_t count;
  std::vector<float> actions, observations, finals, rewards;
  std::vector<std::uint8_t> terminated, truncated;
  std::vector<EpisodeEnd> ends;
};

// Steps the environments; ok if no step fails.
Status step_often(VecEnv& envs, int steps = 25) {
  Rows rows(envs);
  for (int s = 0; s < steps; ++s) {
    const Status status = envs.step(0, envs.num_envs(), rows.get());
    if (!status.ok()) return status;
  }
  return {};
}

// Steps a range once, with critic observations if the environments have them.
Status step_with_critic(VecEnv& envs, int begin, int end) {
  Rows rows(envs);
  std::vector<float> critic(rows.count), finals(rows.count);
  StepRows step = rows.get();
  if (envs.spec().has_critic_observation()) {
    step.critic_observations = critic.data();
    step.final_critic_observations = finals.data();
  }
  return envs.step(begin, end, step);
}

Status step_faulty(const std::string& task) {
  VecEnvOptions three;
  three.num_envs = 3;
  Result<std::unique_ptr<VecEnv>> made = make(id_of("faulty", task), three);
  if (!made.ok()) return made.status();
  return step_often(*made.value());
}

TEST(Plugins, PassTheConformanceChecks) {
  const std::pair<const char*, const char*> tasks[] = {
      {"cart", "Cart-v0"},        {"walk", "Walk-v0"},    {"walk", "Whole-v0"},
      {"walk", "Itself-v0"},      {"walk", "Forgets-v0"}, {"walk", "Varies-v0"},
      {"walk_loses", "Itself-v0"}};
  for (const auto& [library, task] : tasks) {
    const std::string id = id_of(library, task);
    const ConformanceReport report =
        check_vec_env([&](const VecEnvOptions& options) { return make(id, options); });
    EXPECT_EQ(report.findings(), std::vector<std::string>{}) << id;
  }
}

TEST(Plugins, HaveTraits) {
  const auto traits = [](const char* library, const char* task) {
    return make(id_of(library, task)).value()->traits();
  };
  VecEnvTraits plain;
  EXPECT_EQ(traits("cart", "Cart-v0"), plain);
  plain.common_bits = false;  // the plug-in does not set the flag
  EXPECT_EQ(traits("walk", "Walk-v0"), plain);
  EXPECT_EQ(traits("walk", "Itself-v0"), plain);
  const auto traits_with = [&](bool VecEnvTraits::*trait, bool value) {
    VecEnvTraits out = plain;
    out.*trait = value;
    return out;
  };
  EXPECT_EQ(traits("walk", "Whole-v0"), traits_with(&VecEnvTraits::whole_batch, true));
  EXPECT_EQ(traits("walk", "Forgets-v0"), traits_with(&VecEnvTraits::saves_state, false));
  EXPECT_EQ(traits("walk", "Varies-v0"), traits_with(&VecEnvTraits::deterministic, false));
  EXPECT_EQ(traits("walk_loses", "Itself-v0"),
            traits_with(&VecEnvTraits::has_final_observations, false));
  // observe_final() does not cover critic observations.
  EXPECT_EQ(traits("walk_critic", "Itself-v0"),
            traits_with(&VecEnvTraits::has_final_observations, false));
  EXPECT_TRUE(traits("walk_critic", "Walk-v0").has_final_observations);
}

TEST(Plugins, AreDescribed) {
  const Result<EnvSpec> spec = env_spec(id_of("cart", "Cart-v0"), {{"force", "2"}});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec.value().observation.size, 2);
  EXPECT_EQ(spec.value().critic_observation.size, 3);
  EXPECT_EQ(spec.value().action.high, std::vector<float>{1.0f});
  EXPECT_EQ(spec.value().max_episode_steps, 200);
  EXPECT_EQ(spec.value().end_reasons, (std::vector<std::string>{"off_the_rail", "time_limit"}));
  EXPECT_TRUE(spec.value().names_success);
  EXPECT_EQ(spec.value().plugin.name, "cart");
  EXPECT_EQ(spec.value().plugin.hash.size(), 32u);
  EXPECT_EQ(env_spec("CartPole-v1", {}).value().plugin, EnvPlugin{});
  const std::vector<FieldInfo> options = list_env_options(id_of("cart", "Cart-v0")).value();
  ASSERT_EQ(options.size(), 11u);  // with the wrappers'
  EXPECT_EQ(options[2].name, "scale_actions");
  EXPECT_EQ(options[0].name, "friction");
  EXPECT_EQ(options[0].range_text, "0 to 10");
}

TEST(Plugins, SumOverSteps) {
  const EnvSpec spec = env_spec(id_of("cart", "Cart-v0"), {}).take();
  ASSERT_EQ(spec.counted(), 4u);
  EXPECT_EQ(spec.reward_terms[1].name, "off_mark");
  EXPECT_EQ(spec.reward_terms[1].weight, -1.0);
  EXPECT_EQ(spec.measures[0].name, "distance");
  EXPECT_EQ(spec.measures[0].unit, "m");
  ASSERT_EQ(spec.context.size(), 1u);
  EXPECT_EQ(spec.context[0].high, 0.3);
  EXPECT_EQ(env_spec(id_of("walk", "Walk-v0"), {}).value().counted(), 0u);

  VecEnvOptions two;
  two.num_envs = 2;
  std::unique_ptr<VecEnv> envs = make(id_of("cart", "Cart-v0"), two).take();
  Rows rows(*envs);
  double paid = 0.0;
  for (int s = 0; s < 10; ++s) {
    ASSERT_TRUE(envs->step(0, 2, rows.get()).ok());
    paid += static_cast<double>(rows.rewards[1]);
  }
  std::vector<double> sums(4);
  capability<StepCounter>(*envs)->take_step_sums(1, sums);
  EXPECT_EQ(sums[0], 10.0);
  EXPECT_NEAR(sums[0] + sums[1] + sums[2], paid, 1e-5);
  EXPECT_GT(sums[3], 0.0);
  double first = 0.0, second = 0.0;
  capability<AuditContext>(*envs)->context(0, {&first, 1});
  capability<AuditContext>(*envs)->context(1, {&second, 1});
  EXPECT_NE(first, second);
  EXPECT_LE(std::abs(first), 0.3);
}

TEST(Plugins, TakeOptionsAndDisturbances) {
  const std::string id = id_of("cart", "Cart-v0");
  EXPECT_TRUE(says(error_of(id, {{"frixion", "1"}}), "did you mean 'friction'"));
  EXPECT_TRUE(says(error_of(id, {{"friction", "slow"}}), "got 'slow'"));
  EXPECT_TRUE(says(error_of(id, {{"friction", "11"}}), "expected 0 to 10"));
  EXPECT_TRUE(says(error_of(id, {{"force", "0.2"}}), "force: got 0.2"));
  EXPECT_TRUE(says(error_of(id, {{"strata.a.friction", "0..1"}}), "unknown option"));
  EXPECT_EQ(error_of(id, {{"friction", "0.2"}, {"disturb.obs_noise", "0.1"}}), "");
}

// The final observation is the end of the line; the observation is the next episode's start.
TEST(Plugins, KeepLastObservationsApart) {
  for (const char* task : {"Walk-v0", "Itself-v0"}) {
    std::unique_ptr<VecEnv> envs = make(id_of("walk", task)).take();
    Rows rows(*envs);
    rows.actions[0] = 1.0f;
    int ended = 0;
    for (int s = 0; s < 40; ++s) {
      ASSERT_TRUE(envs->step(0, 1, rows.get()).ok());
      if (rows.terminated[0] == 0) continue;
      ++ended;
      EXPECT_EQ(rows.finals[6] + rows.finals[0], 1.0f) << task;
      EXPECT_EQ(rows.observations[6] + rows.observations[0], 0.0f) << task;
      EXPECT_EQ(rows.ends[0].reason, rows.finals[6] == 1.0f ? 1 : 0);
    }
    EXPECT_GT(ended, 2) << task;
  }
}

TEST(Plugins, BeginStaggered) {
  VecEnvOptions options;
  options.num_envs = 10;
  options.stagger_starts = true;
  for (const char* task : {"Walk-v0", "Whole-v0", "Itself-v0"}) {
    const std::unique_ptr<VecEnv> envs = make(id_of("walk", task), options).take();
    const std::unique_ptr<VecEnv> cart = make(id_of("cart", "Cart-v0"), options).take();
    EXPECT_EQ(envs->episode_step(0), 0);
    EXPECT_EQ(cart->episode_step(0), 0);
    EXPECT_LE(envs->episode_step(9), 27);
    int moved = 0;
    for (int i = 1; i < 10; ++i) moved += cart->episode_step(i) > 0 ? 1 : 0;
    EXPECT_GT(moved, 7);
  }
  options.stagger_by = StaggerBy::kAge;
  const std::unique_ptr<VecEnv> aged = make(id_of("walk", "Walk-v0"), options).take();
  const std::unique_ptr<VecEnv> fresh = make(id_of("walk", "Walk-v0"), {.num_envs = 10}).take();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(aged->episode_step(i), 3 * i);
  Rows aged_rows(*aged), fresh_rows(*fresh);
  aged->observe(0, 10, aged_rows.get().observations);
  fresh->observe(0, 10, fresh_rows.get().observations);
  EXPECT_EQ(aged_rows.observations, fresh_rows.observations);
}

TEST(Plugins, WithOwnLimitsRefuseLongerOnes) {
  VecEnvOptions longer;
  longer.max_episode_steps = 31;
  const Result<std::unique_ptr<VecEnv>> made = make(id_of("walk", "Itself-v0"), longer);
  ASSERT_FALSE(made.ok());
  EXPECT_TRUE(says(made.status().message(), "after 30"));
}

// A requested limit does not bound truncations by the simulator's own, unknown limit.
TEST(Plugins, WithUnknownLimitsCountAllTruncations) {
  VecEnvOptions limited;
  limited.max_episode_steps = 20;
  const std::unique_ptr<VecEnv> envs = make(id_of("walk_silent", "Itself-v0"), limited).take();
  Rows rows(*envs);
  int cut = 0;
  for (int s = 0; s < 60; ++s) {
    rows.actions[0] = static_cast<float>(s % 2);
    ASSERT_TRUE(envs->step(0, 1, rows.get()).ok());
    cut += rows.truncated[0];
  }
  EXPECT_GT(cut, 3);
  EXPECT_LE(cut, envs->max_truncations(60));
  EXPECT_EQ(envs->max_truncations(8), 8);
  EXPECT_EQ(make(id_of("walk", "Itself-v0"), limited).value()->max_truncations(60), 3);
}

TEST(Plugins, RefuseInvalidLibraries) {
  EXPECT_TRUE(says(error_of("plugin:libnowhere.so:A-v0"), "looked for libnowhere.so"));
  EXPECT_TRUE(says(error_of("plugin:" + test_plugin_folder() + "/cmake_install.cmake:A-v0"),
                   "cannot be loaded"));
  EXPECT_TRUE(says(error_of(id_of("no_symbol", "A-v0")), "no function broadloom_get_plugin()"));
  EXPECT_TRUE(says(error_of(id_of("other_abi", "A-v0")), "interface 99"));
  EXPECT_TRUE(says(error_of(id_of("walk", "Wolk-v0")), "did you mean plugin:"));
  EXPECT_TRUE(says(error_of(id_of("walk", "Wolk-v0")), "It has Walk-v0, Whole-v0"));
  EXPECT_TRUE(says(error_of("plugin:" + test_plugin_folder() + "/libwalk.so"), "no task"));
  EXPECT_TRUE(says(error_of("plugin:"), "no library"));
}

// Defaults, panels and lists of options depend on the options given.
TEST(Plugins, MayRequireAnOption) {
  const std::string id = id_of("faulty", "Wants-v0");
  EXPECT_TRUE(says(error_of(id), "set env.wait to the seconds"));
  EXPECT_EQ(error_of(id, {{"wait", "5"}}), "");
  EXPECT_EQ(list_env_options(id).value().size(), 11U);
  const auto resolved = [&](Overrides more) {
    more.insert(more.begin(), {{"env_id", id}, {"env.wait", "5"}});
    return resolve_config(more);
  };
  EXPECT_EQ(resolve_config({{"env_id", id}}).status().message(), error_of(id));
  EXPECT_FALSE(resolved({}).value().norm_obs);
  const Config box = resolved({{"env.box", "true"}}).value();
  EXPECT_EQ(box.num_steps, 2048);  // the default for Box actions, see docs/reference/config.md
  EXPECT_EQ(box.ent_coef, 0.0);
  EXPECT_TRUE(box.norm_obs);
  const std::string head = "env_id = \"" + id + "\"\n";
  EXPECT_TRUE(parse_panel(head + "[env]\nwait = 5\n", "p").ok());
  EXPECT_TRUE(says(parse_panel(head, "p").status().message(), "set env.wait"));
  EXPECT_TRUE(
      says(parse_panel(head + "[env]\nbox = 3\nwait = 5\n", "p").status().message(), "p:3: "));
}

TEST(Plugins, GetSeveralChoicesAsNumbers) {
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "Choices-v0"), {.num_envs = 3}).take();
  EXPECT_EQ(shape_text(envs->spec().action), "MultiDiscrete(3, 1)");
  Rows rows(*envs);
  ASSERT_EQ(rows.actions.size(), 6u);
  rows.actions = {0.0f, 0.0f, 1.0f, 0.0f, 2.0f, 0.0f};
  ASSERT_TRUE(envs->step(0, 3, rows.get()).ok());
  EXPECT_EQ(rows.rewards, (std::vector<float>{0.0f, 1.0f, 2.0f}));
}

TEST(Plugins, GetChoicesAndNumbersAsARow) {
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "Hybrid-v0"), {.num_envs = 50}).take();
  const Space& space = envs->spec().action;
  EXPECT_EQ(shape_text(space), "Hybrid(2; 2 numbers)");
  EXPECT_EQ(space.low, (std::vector<float>{0.0f, -1.0f, 2.0f}));
  Rows rows(*envs);
  for (std::size_t n = 0; n < 50; ++n) {
    Random random(1, Purpose::kUser, static_cast<std::uint32_t>(n), 0);
    draw_action(space, random, &rows.actions[3 * n]);
  }
  ASSERT_TRUE(envs->step(0, 50, rows.get()).ok());
  for (std::size_t n = 0; n < 50; ++n) {
    EXPECT_EQ(rows.rewards[n], rows.actions[3 * n] + rows.actions[3 * n + 2]);
  }
}

// Random play takes valid choices alone; others have no finite reward.
TEST(Plugins, SayWhichActionsAreValid) {
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "Masked-v0"), {.num_envs = 3}).take();
  EXPECT_EQ(shape_text(envs->spec().action), "Discrete(3; masked)");
  Rows rows(*envs);
  MaskRows masks(envs->spec(), 3);
  for (std::uint64_t t = 0; t < 50; ++t) {
    masks.read(*envs, 0, 3);
    for (std::size_t n = 0; n < 3; ++n) {
      Random random(1, Purpose::kUser, static_cast<std::uint32_t>(n), t);
      draw_action(envs->spec().action, random, &rows.actions[n], masks.row(n));
    }
    ASSERT_TRUE(envs->step(0, 3, rows.get()).ok());
    EXPECT_EQ(rows.rewards, std::vector<float>(3, 1.0f));
  }
}

TEST(Plugins, ShowGroupsOfObservations) {
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "Groups-v0"), {.num_envs = 3}).take();
  EXPECT_EQ(shape_text(envs->spec().observation),
            "Dict(image: 2 x 2 x 1; uint8 to 9, choice: 3; one-hot, state: 1)");
  EXPECT_EQ(envs->spec().observation.low,
            (std::vector<float>{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, -1.0f}));
  Rows rows(*envs);
  ASSERT_TRUE(envs->step(0, 3, rows.get()).ok());
  EXPECT_EQ(rows.observations[19], 2.0f);
  EXPECT_EQ(rows.observations[23], -0.5f);
}

TEST(Plugins, RefuseInvalidSpecs) {
  EXPECT_TRUE(says(error_of(id_of("faulty", "BadName-v0")), "has a group 'a b'"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "BadRank-v0")), "has a rank of 0"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "BadCount-v0")), "has 65 groups, expected 1 to 64"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "BadAction-v0")), "which only observations have"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoBounds-v0")), "its action space has no bounds"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "HalfChoice-v0")), "number 1 from 0 to 0.5"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "HalfDevice-v0")), "needs BROADLOOM_WHOLE_BATCH"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoDevice-v0")), "requires device(), which is NULL"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoNumber-v0")), "has 3 leading choices"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoLows-v0")), "is hybrid without lows or highs"));
  EXPECT_TRUE(
      says(error_of(id_of("faulty", "NoShape-v0")), "its observation space has a rank of 0"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoState-v0")), "get_state()"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoSums-v0")), "take_step_sums()"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoContext-v0")), "context()"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoMasks-v0")), "valid_actions()"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Many-v0")), "65 numbers of context"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Default-v0")), "got 'fast'"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Unnamed-v0")), "option 0 of the plug-in's task"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Latin-v0")), "says that episodes end by 'f\xe9ll'"));
}

// Such a space is taken as another one, without a word.
TEST(Plugins, RefuseSpacesThatContradictThemselves) {
  EXPECT_TRUE(says(error_of(id_of("faulty", "CriticRank-v0")),
                   "its critic observation space has a rank of 0"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "CriticGroups-v0")),
                   "has groups, which only the policy's observation has"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "BothSpaces-v0")), "has groups and an array"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NullGroups-v0")), "has num_groups without groups"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Frames-v0")), "has -4 frames"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Padding-v0")), "the unknown frame_padding 7"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Leading-v0")), "which only hybrid spaces have"));
}

// Old numbers would train unnoticed.
TEST(Plugins, LeaveNaNWhereTheyWriteNothing) {
  const auto rows_after_a_step = [](const char* task) {
    const std::unique_ptr<VecEnv> envs = make(id_of("faulty", task), {.num_envs = 3}).take();
    Rows rows(*envs);
    EXPECT_TRUE(envs->step(0, 3, rows.get()).ok());
    return rows;
  };
  const auto all_nan = [](const std::vector<float>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isnan(x); });
  };
  EXPECT_TRUE(all_nan(rows_after_a_step("NoReward-v0").rewards));
  EXPECT_FALSE(all_nan(rows_after_a_step("NoReward-v0").observations));
  EXPECT_TRUE(all_nan(rows_after_a_step("Blind-v0").observations));
  EXPECT_FALSE(all_nan(rows_after_a_step("Blind-v0").rewards));
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "BlindCritic-v0")).take();
  float critic = 0.0f;
  envs->observe_critic(0, 1, &critic);
  EXPECT_TRUE(std::isnan(critic));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoIndex-v0")), "gave the index nan"));
}

TEST(Plugins, SayWhichFirstIndexIsInvalid) {
  EXPECT_TRUE(says(error_of(id_of("faulty", "NeverCell-v0")),
                   "gave the index 9 for environment 0; expected a whole number from 0 to 0"));
}

// Such writes would change memory of others.
TEST(Plugins, AreCheckedForWritesToOtherRows) {
  const auto finds = [](const char* task, const std::string& text) {
    const std::string id = id_of("faulty", task);
    const ConformanceReport report =
        check_vec_env([&](const VecEnvOptions& options) { return make(id, options); });
    const std::vector<std::string> all = report.findings();
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return says(one, text); });
  };
  const std::string rule = " wrote outside its rows; row k belongs to environment begin + k";
  EXPECT_TRUE(finds("Beyond-v0", "step() of " + id_of("faulty", "Beyond-v0") + rule));
  EXPECT_TRUE(finds("Afar-v0", "observe() of " + id_of("faulty", "Afar-v0") + rule));
  for (const char* task : {"FarReasons-v0", "FarSuccess-v0"}) {
    EXPECT_TRUE(finds(task, " wrote outside its rows of reasons or successes")) << task;
  }
  EXPECT_TRUE(finds("NoReward-v0", "did not write the reward of environment 0"));
  EXPECT_TRUE(finds("Blind-v0", "did not write the observation of environment 0"));
  EXPECT_TRUE(finds("BlindCritic-v0", "did not write the critic observation of environment 0"));
  EXPECT_TRUE(finds("BothEnds-v0", "terminated and truncated environment 0's episode at once"));
  EXPECT_TRUE(finds("LongState-v0", "wrote more than state_size = 8 bytes"));
  EXPECT_FALSE(finds("StepFails-v0", "outside its rows"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Longer-v0")), "observe() of"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Longer-v0")), rule));
}

TEST(Plugins, AreNotCheckedOnADevice) {
  const auto last_check = [](const std::string& id) {
    return check_vec_env([&](const VecEnvOptions& options) { return make(id, options); })
        .checks.back();
  };
  EXPECT_EQ(last_check(id_of("throws_everywhere", "Device-v0")).name, "device()");
  EXPECT_NE(last_check(id_of("throws_everywhere", "Device-v0")).left_out, "");
  EXPECT_NE(last_check(id_of("cart", "Cart-v0")).name, "device()");
}

TEST(Plugins, MayNotWriteMoreThanAState) {
  const std::unique_ptr<VecEnv> envs = make(id_of("faulty", "LongState-v0")).take();
  const Status status = envs->capture();
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_TRUE(says(status.message(), "wrote more than state_size = 8 bytes")) << status.message();
}

TEST(Plugins, RefuseTablesWithFaults) {
  EXPECT_TRUE(says(error_of(id_of("bad_id", "A-v0")), "has the id 'Two words-v0'"));
  EXPECT_TRUE(says(error_of(id_of("twice", "Many-v0")), "two tasks with the id Many-v0"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Same-v0")), "two options named 'speed'"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoLimits-v0")), "the range nan to nan"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Flags-v0")), "the flags 0x100000"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoReasons-v0")), "1 end reasons and gives NULL"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "NoMeasures-v0")), "2 measures in NULL"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Threshold-v0")), "reward_threshold is nan"));
  EXPECT_TRUE(says(error_of(id_of("faulty", "Scores-v0")), "score range is 5 to 5"));
}

// close() would free the pointer again, and its abort would hide the message.
TEST(Plugins, CloseOnlyWhatWasMade) {
  const Status status = step_faulty("MakeFrees-v0");
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_TRUE(says(status.message(), "no GPU found")) << status.message();
}

TEST(Plugins, SayWhichIndexIsInvalid) {
  const Status status = step_faulty("NoCell-v0");
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_TRUE(says(status.message(), "observe() of " + id_of("faulty", "NoCell-v0") +
                                         " gave the index 9 for environment 0; expected a whole "
                                         "number from 0 to 0"))
      << status.message();
}

// REFUSED means a damaged file, which a user may remove; FAILED does not.
TEST(Plugins, TellDamagedStatesFromTheirOwnFailures) {
  EXPECT_EQ(make(id_of("faulty", "Refuses-v0")).value()->state_restored().kind(),
            ErrorKind::kCorrupt);
  EXPECT_EQ(make(id_of("faulty", "Forgets-v0")).value()->state_restored().kind(), ErrorKind::kIo);
  const std::unique_ptr<VecEnv> carts = make(id_of("cart", "Cart-v0")).take();
  ASSERT_TRUE(carts->capture().ok());
  std::vector<TensorRef> state;
  carts->append_state("e", state);
  ASSERT_TRUE(carts->state_restored().ok());
  std::memset(state[0].data, 0xff, state[0].bytes());  // every number is NaN
  EXPECT_EQ(carts->state_restored().kind(), ErrorKind::kCorrupt);
}

// A step of some environments would write beyond the arrays of the others.
TEST(Plugins, OfWholeBatchesStaggerNoParts) {
  VecEnvOptions options{.num_envs = 10, .stagger_starts = true};
  options.joining = {4, 10};
  EXPECT_TRUE(make(id_of("walk", "Walk-v0"), options).ok());
  const Status refused = make(id_of("walk", "Whole-v0"), options).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_TRUE(says(refused.message(), "steps all 10 at once")) << refused.message();
  options.joining = {10};
  EXPECT_TRUE(make(id_of("walk", "Whole-v0"), options).ok());
}

// Before their own limit, Broadloom cuts all episodes, and observe_final() is not called.
TEST(Plugins, ShowLastObservationsAtTheirOwnLimit) {
  const auto findings = [](const char* library, int own_limit) {
    ConformanceOptions options;
    options.time_limit = 3;
    options.own_limit = own_limit;
    return check_vec_env(
               [&](const VecEnvOptions& asked) { return make(id_of(library, "Itself-v0"), asked); },
               options)
        .findings();
  };
  EXPECT_EQ(findings("walk_stale", 0), std::vector<std::string>{});
  const std::vector<std::string> found = findings("walk_stale", 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(says(found[0], "have the same final observation")) << found[0];
  EXPECT_EQ(findings("walk", 4), std::vector<std::string>{});
}

TEST(Plugins, LoseLastObservationsToTheirCritic) {
  const auto refusal = [](const char* library) {
    Config config;
    config.env_id = id_of(library, "Itself-v0");
    config.truncation_mode = "bootstrap";
    const Status status = check_simulator(config, *make(config.env_id).value());
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    return status.message();
  };
  const char* const reason = "since observe_final() does not cover its critic observation";
  EXPECT_TRUE(says(refusal("walk_critic"), reason));
  EXPECT_TRUE(says(refusal("walk_loses"), "does not return it; expected as_termination"));
}

TEST(Plugins, FailWithTheirMessages) {
  const std::pair<const char*, const char*> faults[] = {
      {"StepFails-v0", "the belt of cart 0 is torn"},
      {"Silent-v0", "step()"},
      {"Silent-v0", "returned 2 (BROADLOOM_FAILED) without a message"},
      {"BothEnds-v0", "terminated and truncated environment 0's episode at once"},
      {"CutsEarly-v0", "after 3 steps of environment 0, before max_episode_steps = 9"},
      {"ResetFails-v0", "the motor does not answer"},
      {"MakeFails-v0", "no licence of the simulator"},
      {"Nothing-v0", "no simulator"},
      {"Reasons-v0", "reason 1"},
      {"Truncates-v0", "truncated after 3 steps"},
      {"Throws-v0", "the gripper is jammed"}};
  for (const auto& [task, text] : faults) {
    const Status status = step_faulty(task);
    EXPECT_FALSE(status.ok()) << task;
    EXPECT_TRUE(says(status.message(), text)) << status.message();
    EXPECT_TRUE(says(status.message(), id_of("faulty", task))) << status.message();
  }
  EXPECT_EQ(step_faulty("StepFails-v0").kind(), ErrorKind::kIo);
  EXPECT_EQ(step_faulty("MakeFails-v0").kind(), ErrorKind::kInvalidConfig);
}

// The next step returns exceptions of functions that cannot return an error.
TEST(Plugins, ReturnExceptionsAsErrors) {
  EXPECT_TRUE(
      says(error_of(id_of("throws_everywhere", "Describe-v0")), "the lamp of Describe-v0 is out"));
  EXPECT_TRUE(says(error_of(id_of("table_throws", "Observe-v0")), "no licence of the table"));
  VecEnvOptions four;
  four.num_envs = 4;
  const std::pair<const char*, const char*> tasks[] = {{"Observe-v0", "observe()"},
                                                       {"Critic-v0", "observe_critic()"},
                                                       {"Final-v0", "observe_final()"},
                                                       {"Sums-v0", "take_step_sums()"},
                                                       {"Context-v0", "context()"}};
  for (const auto& [task, function] : tasks) {
    const std::unique_ptr<VecEnv> envs = make(id_of("throws_everywhere", task), four).take();
    Status status;
    double number = 0.0;
    for (int s = 0; s < 5 && status.ok(); ++s) {
      status = step_with_critic(*envs, 0, 4);
      for (int n = 0; n < 4; ++n) capability<AuditContext>(*envs)->context(n, {&number, 1});
      for (int n = 0; n < 4; ++n) capability<StepCounter>(*envs)->take_step_sums(n, {&number, 1});
    }
    EXPECT_EQ(status.kind(), ErrorKind::kIo) << task;
    EXPECT_TRUE(says(status.message(), std::string(function) + " of plugin:")) << status.message();
    EXPECT_TRUE(says(status.message(), std::string("the lamp of ") + task)) << status.message();
  }
}

// The task truncates after 30 steps.
TEST(Plugins, KeepTheirLimitOnTheDevice) {
  const auto after = [](int steps, int end) {
    const std::unique_ptr<VecEnv> envs = make(id_of("walk", "Device-v0"), {.num_envs = 1}).take();
    std::vector<std::uint8_t> terminated(static_cast<std::size_t>(steps)), truncated(terminated);
    if (end >= 0) truncated[static_cast<std::size_t>(end)] = 1;
    return device_steps(*envs)->took_block(steps, terminated.data(), truncated.data()).message();
  };
  EXPECT_EQ(after(29, -1), "");
  EXPECT_EQ(after(40, 29), "");
  EXPECT_TRUE(says(after(40, -1), "went on with an episode of environment 0 after 30 steps"));
  EXPECT_TRUE(says(after(40, 3), "truncated an episode of environment 0 after 4 steps"));
}

TEST(Plugins, MayThrowOnTheDevice) {
  const std::unique_ptr<VecEnv> envs = make(id_of("throws_everywhere", "Device-v0")).take();
  ASSERT_NE(device_steps(*envs), nullptr);
  const Status status = device_steps(*envs)->step_on_device({}, nullptr);
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_TRUE(says(status.message(), "device() of plugin:")) << status.message();
  EXPECT_TRUE(says(status.message(), "the lamp of Device-v0 is out")) << status.message();
}

// Environments of other ranges continue, in any order of threads.
TEST(Plugins, FailOnlyInTheRangeOfAnException) {
  VecEnvOptions four;
  four.num_envs = 4;
  for (const char* task : {"Observe-v0", "Context-v0"}) {
    const std::unique_ptr<VecEnv> envs = make(id_of("throws_everywhere", task), four).take();
    for (int s = 0; s < 2; ++s) ASSERT_TRUE(step_with_critic(*envs, 0, 4).ok());
    const bool in_step = step_with_critic(*envs, 2, 4).ok();
    double number = 0.0;
    capability<AuditContext>(*envs)->context(2, {&number, 1});
    EXPECT_EQ(in_step, std::string(task) != "Observe-v0");
    for (int s = 0; s < 5; ++s) EXPECT_TRUE(step_with_critic(*envs, 0, 2).ok()) << task;
    EXPECT_FALSE(step_with_critic(*envs, 2, 4).ok()) << task;
  }
}

TEST(Plugins, MayThrowInClose) {
  std::unique_ptr<VecEnv> envs = make(id_of("throws_everywhere", "Close-v0")).take();
  EXPECT_TRUE(step_often(*envs).ok());
  envs.reset();
}

TEST(PluginsDeathTest, AreNamedInCrashes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto report = [](const char* how, const char* task) {
    return std::string(how) + ".*faulty.so:" + task + ", in step\\(\\) of environments 0 to 2";
  };
  EXPECT_DEATH((void)step_faulty("Crashes-v0"),
               report("crashed the program by SIGSEGV", "Crashes-v0"));
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer reports this one itself
  EXPECT_DEATH((void)step_faulty("Sinks-v0"), report("crashed the program by SIGSEGV", "Sinks-v0"));
#endif
  EXPECT_DEATH((void)step_faulty("ManyReasons-v0"),
               "crashed the program by SIGSEGV.*faulty.so:ManyReasons-v0, in describe");
  EXPECT_DEATH((void)step_faulty("FarOptions-v0"),
               "crashed the program by SIGSEGV.*FarOptions-v0, in broadloom_get_plugin");
  EXPECT_DEATH((void)step_faulty("Aborts-v0"),
               report("crashed the program by SIGABRT", "Aborts-v0"));
  EXPECT_EXIT((void)step_faulty("Exits-v0"), testing::ExitedWithCode(1),
              report("ended the program by exit", "Exits-v0"));
}

TEST(Plugins, AreGuessedFromPathsAlone) {
  EXPECT_TRUE(
      says(error_of("./libmine.so:Mine-v0"), "did you mean 'plugin:./libmine.so:Mine-v0'?"));
  EXPECT_FALSE(says(error_of("./libmine.so"), "plugin:"));
}

TEST(Plugins, SplitTheirIds) {
  EXPECT_EQ(split_plugin_id("plugin:libmine.so:Task-v0").file, "libmine.so");
  EXPECT_EQ(split_plugin_id("plugin:libmine.so:Task-v0").task, "Task-v0");
  EXPECT_EQ(split_plugin_id("plugin:/a:b/libmine.so:Task-v0").file, "/a:b/libmine.so");
  EXPECT_EQ(split_plugin_id("plugin:libmine.so").task, "");
}

// A simulator that saves its state needs no staggered start if a checkpoint follows; others do.
TEST(Plugins, AreStaggeredIfNoStateFollows) {
  VecEnvOptions options;
  options.num_envs = 8;
  options.stagger_starts = options.state_follows = true;
  const auto steps = [&](const char* task) {
    const Result<std::unique_ptr<VecEnv>> envs = make(id_of("walk", task), options);
    EXPECT_TRUE(envs.ok()) << envs.status().message();
    std::int64_t sum = 0;
    for (int i = 0; i < options.num_envs; ++i) sum += envs.value()->episode_step(i);
    return sum;
  };
  EXPECT_GT(steps("Forgets-v0"), 0);
  EXPECT_EQ(steps("Walk-v0"), 0);
  options.state_follows = false;
  EXPECT_GT(steps("Walk-v0"), 0);
}

}  // namespace
}  // namespace broadloom
