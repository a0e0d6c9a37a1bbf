// Reasons of episode ends, and success.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/pendulum.h"
#include "broadloom/env/tasks/toy_text/frozen_lake.h"
#include "broadloom/env/tasks/toy_text/taxi.h"
#include "tests/env/rollout.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

class EveryOutcome : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryOutcome, IsSetOnlyForEndedEpisodesAndAgreesWithTheFlags) {
  const std::unique_ptr<VecEnv> env =
      make(GetParam(), {.num_envs = 9, .seed = 3, .max_episode_steps = 40});
  const EnvSpec& spec = env->spec();
  // MinAtar's games, the dials and golf define no success, only a score.
  const bool has_score_alone =
      spec.id.starts_with("MinAtar/") || spec.id == "Dials-v0" || spec.id == "Golf-v0";
  EXPECT_EQ(spec.names_success, !has_score_alone);
  ASSERT_FALSE(spec.end_reasons.empty());
  EXPECT_EQ(spec.end_reasons.back(), "time_limit");
  const int time_limit = static_cast<int>(spec.end_reasons.size()) - 1;
  const Rollout out = roll(*env, 0, 200, 4);
  int ended = 0;
  for (std::size_t i = 0; i < out.ends.size(); ++i) {
    const EpisodeEnd& end = out.ends[i];
    if (!out.terminated[i] && !out.truncated[i]) {
      ASSERT_EQ(end, EpisodeEnd{});
      continue;
    }
    ++ended;
    ASSERT_EQ(end.reason == time_limit, out.truncated[i] != 0);
    ASSERT_GE(end.reason, 0);
    ASSERT_LE(end.reason, time_limit);
    ASSERT_EQ(end.success == 0 || end.success == 1, spec.names_success);
    ASSERT_EQ(end.stratum, -1);
  }
  EXPECT_GT(ended, 0);
}

TEST_P(EveryOutcome, IsTheSameWithAndWithoutEnds) {
  const VecEnvOptions options{.num_envs = 9, .seed = 3, .max_episode_steps = 40};
  const Rollout asked = roll(*make(GetParam(), options), 0, 100, 9);
  const std::unique_ptr<VecEnv> env = make(GetParam(), options);
  StepObservations rows(env->spec().observation, 9), last(env->spec().observation, 9);
  std::vector<float> actions(9 * env->spec().action_size()), rewards(9);
  std::vector<std::uint8_t> terminated(9), truncated(9);
  for (int t = 0; t < 100; ++t) {
    draw_actions(env->spec(), 0, 9, t, 1 << 30, actions.data());
    ASSERT_TRUE(env->step(0, 9,
                          {actions.data(), rows.rows_from(0), rewards.data(), terminated.data(),
                           truncated.data(), last.rows_from(0)})
                    .ok());
    std::vector<float> seen;
    rows.append_to(seen);
    const auto same = [&](const auto& part, const auto& whole) {
      return std::equal(part.begin(), part.end(), whole.begin() + t * part.size());
    };
    ASSERT_TRUE(same(seen, asked.observations) && same(rewards, asked.rewards));
    ASSERT_TRUE(same(terminated, asked.terminated) && same(truncated, asked.truncated));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryOutcome, ::testing::ValuesIn(all_ids()), name_of);

TEST(Outcome, AgreesWithRewards) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  for (const char* id : {"FrozenLake-v1", "Taxi-v3", "MountainCarContinuous-v0"}) {
    const std::unique_ptr<VecEnv> env = make(id, {.num_envs = 64, .seed = 5});
    const Rollout out = roll(*env, 0, 4000, 64);
    int successes = 0;
    for (std::size_t i = 0; i < out.ends.size(); ++i) {
      if (out.ends[i].reason < 0) continue;
      ASSERT_EQ(out.ends[i].success == 1, out.rewards[i] > 0.0f) << id;
      successes += out.ends[i].success;
    }
    if (std::string(id) == "FrozenLake-v1") EXPECT_GT(successes, 100);
  }
}

TEST(Outcome, SeparatesTrackAndPoleInCartPole) {
  const CartPole::Params p;
  EXPECT_EQ(CartPole::end_reason(p, {2.5, 0, 0, 0}), 0);
  EXPECT_EQ(CartPole::end_reason(p, {-2.5, 0, 0.1, 0}), 0);
  EXPECT_EQ(CartPole::end_reason(p, {0, 0, 0.3, 0}), 1);
  EXPECT_EQ(CartPole::end_reason(p, {0, 0, -0.3, 0}), 1);
  EXPECT_TRUE(CartPole::success(p, {}, false, true));
  EXPECT_FALSE(CartPole::success(p, {}, true, false));
}

TEST(Outcome, RequiresAnUprightPendulumAtTheEnd) {
  const Pendulum::Params p;
  const double degree = Pendulum::kPi / 180.0;
  const auto success = [&](double degrees, double speed, bool truncated = true) {
    return Pendulum::success(p, {degrees * degree, speed}, false, truncated);
  };
  EXPECT_TRUE(success(0.0, 0.0));
  EXPECT_TRUE(success(360.0 + 7.9, 0.9));
  EXPECT_TRUE(success(-7.9, -0.9));
  EXPECT_FALSE(success(8.1, 0.0));
  EXPECT_FALSE(success(180.0, 0.0));
  EXPECT_FALSE(success(0.0, 1.1));
  EXPECT_FALSE(success(0.0, -1.1));
  EXPECT_FALSE(success(0.0, 0.0, false));
}

// An environment without reasons and success.
struct Silent {
  struct Params {
    double unused = 0.0;
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    double x;
  };
  static constexpr auto members = std::tuple{&State::x};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Silent";
    spec.observation = Space::box({0}, {100});
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 5;
    return spec;
  }
  static void reset(const Params&, State& s, Random&) { s.x = 0; }
  static StepResult step(const Params&, State& s, const float* action, Random&) {
    s.x += 1.0;
    return {1.0, action[0] > 0.5f};
  }
  static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.x);
  }
};
static_assert(Environment<Silent>);

TEST(Outcome, HasDefaults) {
  BatchedEnv<Silent> env({}, Silent::spec({}), {.num_envs = 2});
  EXPECT_FALSE(env.spec().names_success);
  EXPECT_EQ(env.spec().end_reasons, (std::vector<std::string>{"terminated", "time_limit"}));
  const float actions[] = {1.0f, 0.0f};
  float seen[2], rewards[2], last[2];
  std::uint8_t terminated[2], truncated[2];
  std::vector<EpisodeEnd> ends(2);
  for (int t = 0; t < 5; ++t) {
    ASSERT_TRUE(
        env.step(0, 2, {actions, seen, rewards, terminated, truncated, last, ends.data()}).ok());
  }
  EXPECT_EQ(ends[0], (EpisodeEnd{.stratum = -1, .reason = 0, .success = -1}));
  EXPECT_EQ(ends[1], (EpisodeEnd{.stratum = -1, .reason = 1, .success = -1}));
}

}  // namespace
}  // namespace broadloom
