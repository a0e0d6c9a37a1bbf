// Properties of every registered environment, and of VecEnv over each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/math/isa.h"
#include "tests/env/rollout.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

class EveryEnv : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryEnv, RepeatsAndDoesNotDependOnShards) {
  const VecEnvOptions options{.num_envs = 11, .seed = 4, .max_episode_steps = 23};
  const Rollout whole = roll(*make(GetParam(), options), 0, 60, 11);
  EXPECT_EQ(whole, roll(*make(GetParam(), options), 0, 60, 11));
  EXPECT_EQ(whole, roll(*make(GetParam(), options), 0, 60, 1));
  EXPECT_EQ(whole, roll(*make(GetParam(), options), 0, 60, 4));
}

// The loops are compiled for several instruction sets and process 256 environments at a time.
TEST_P(EveryEnv, HasTheSameBitsOnEveryInstructionSetAndCut) {
  RELEASE_ONLY("a sanitizer's build has one instruction set");
  const VecEnvOptions options{
      .num_envs = 601, .seed = 4, .stagger_starts = true, .max_episode_steps = 23};
  const Rollout whole = roll(*make(GetParam(), options), 0, 50, 601);
  for (const std::string& isa : supported_isas()) {
    ASSERT_TRUE(set_isa(isa).ok());
    for (const int shard : {1, 97, 601}) {
      EXPECT_EQ(whole, roll(*make(GetParam(), options), 0, 50, shard)) << isa << ", " << shard;
    }
  }
  ASSERT_TRUE(set_isa("auto").ok());
}

TEST_P(EveryEnv, SeedsAndEvaluationStreamsDiffer) {
  constexpr StreamSet kTraining = StreamSet::kTraining, kEvaluation = StreamSet::kEvaluation,
                      kPanel = StreamSet::kPanel;
  const auto fingerprint = [&](std::uint64_t seed, StreamSet streams) {
    return roll(*make(GetParam(), {.num_envs = 8, .seed = seed, .streams = streams}), 0, 40, 8);
  };
  if (GetParam() == "CliffWalking-v1") {  // no randomness: seeds must not matter
    EXPECT_EQ(fingerprint(1, kTraining), fingerprint(2, kEvaluation));
    return;
  }
  EXPECT_NE(fingerprint(1, kTraining), fingerprint(2, kTraining));
  EXPECT_NE(fingerprint(1, kTraining), fingerprint(1, kEvaluation));
  EXPECT_NE(fingerprint(1, kTraining), fingerprint(1, kPanel));
  EXPECT_NE(fingerprint(1, kEvaluation), fingerprint(1, kPanel));
}

TEST_P(EveryEnv, StateSavedAndRestoredGoesOnTheSame) {
  const VecEnvOptions options{.num_envs = 7, .seed = 2, .max_episode_steps = 31};
  const std::unique_ptr<VecEnv> whole = make(GetParam(), options);
  roll(*whole, 0, 37, 7);
  const std::unique_ptr<VecEnv> other = make(GetParam(), options);
  copy_state(*whole, *other);
  EXPECT_EQ(roll(*whole, 37, 50, 7), roll(*other, 37, 50, 7));
}

TEST_P(EveryEnv, ObservationsStayInTheirSpace) {
  const std::unique_ptr<VecEnv> env = make(GetParam(), {.num_envs = 5, .seed = 6});
  const Space& space = env->spec().observation;
  const Rollout out = roll(*env, 0, 300, 5);
  for (std::size_t i = 0; i < out.observations.size(); i += space.size) {
    float sum = 0.0f;
    for (int d = 0; d < space.size; ++d) {
      const float x = out.observations[i + d];
      sum += x;
      if (space.kind == SpaceKind::kDiscrete) {
        ASSERT_TRUE(x == 0.0f || x == 1.0f);
      } else {
        ASSERT_GE(x, space.low[d]);
        ASSERT_LE(x, space.high[d]);
      }
    }
    if (space.kind == SpaceKind::kDiscrete) {
      ASSERT_EQ(sum, 1.0f);
    }
  }
}

TEST_P(EveryEnv, TimeLimitTruncatesExactlyAndNeverTogetherWithTermination) {
  const std::unique_ptr<VecEnv> env =
      make(GetParam(), {.num_envs = 6, .seed = 3, .max_episode_steps = 13});
  std::vector<int> length(6, 0);
  const Rollout out = roll(*env, 0, 100, 6);
  std::vector<int> cuts(6, 0);
  for (std::size_t i = 0; i < out.rewards.size(); ++i) {
    const int n = static_cast<int>(i % 6);
    ++length[n];
    ASSERT_FALSE(out.terminated[i] && out.truncated[i]);
    ASSERT_LE(length[n], 13);
    if (length[n] == 13) {
      ASSERT_TRUE(out.terminated[i] || out.truncated[i]);
    }
    if (out.truncated[i]) {
      ASSERT_EQ(length[n], 13);
      ++cuts[n];
    }
    if (out.terminated[i] || out.truncated[i]) length[n] = 0;
  }
  for (const int cut : cuts) EXPECT_LE(cut, env->max_truncations(100));
}

TEST_P(EveryEnv, FinalObservationEndsTheEpisodeAndTheNextOneIsAReset) {
  const int limit = 9;
  const std::unique_ptr<VecEnv> cut =
      make(GetParam(), {.num_envs = 4, .seed = 8, .max_episode_steps = limit});
  const std::unique_ptr<VecEnv> free_run = make(GetParam(), {.num_envs = 4, .seed = 8});
  const Rollout a = roll(*cut, 0, limit, 4);
  const Rollout b = roll(*free_run, 0, limit, 4);
  const std::size_t width = cut->spec().observation_size();
  for (int n = 0; n < 4; ++n) {
    bool ended_before = false;
    for (int t = 0; t + 1 < limit; ++t) ended_before |= a.terminated[t * 4 + n] != 0;
    const std::size_t last = static_cast<std::size_t>(limit - 1) * 4 + n;
    if (ended_before || !a.truncated[last]) continue;
    // The truncated episode's last observation equals that of the longer episode.
    for (std::size_t d = 0; d < width; ++d) {
      EXPECT_EQ(a.final_observations[last * width + d], b.observations[last * width + d]);
    }
    EXPECT_EQ(cut->episode_step(n), 0);
    EXPECT_EQ(free_run->episode_step(n), limit);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryEnv, ::testing::ValuesIn(all_ids()), name_of);

TEST(Registry, HoldsTheLibrarysEnvironments) {
  const std::vector<std::string> all = all_ids();
  for (const char* id :
       {"CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1",
        "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v3", "Dials-v0", "Golf-v0",
        "TicTacToe-v0", "TMaze-v0", "Turntable-v0"}) {
    EXPECT_NE(std::find(all.begin(), all.end(), id), all.end()) << id;
  }
}

TEST(Registry, StaggeredStartsSpreadThePhases) {
  const std::unique_ptr<VecEnv> env =
      make("Pendulum-v1", {.num_envs = 8, .seed = 1, .stagger_starts = true});
  std::set<std::int64_t> phases;
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(env->episode_step(n), n * 200 / 8);
    phases.insert(env->episode_step(n));
  }
  EXPECT_EQ(phases.size(), 8u);
}

TEST(Registry, ExplainsErrors) {
  const auto message = [](const std::string& id, const Overrides& options, int num_envs) {
    const Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, options, {.num_envs = num_envs});
    EXPECT_FALSE(env.ok());
    return env.status().message();
  };
  EXPECT_NE(message("CartPol-v1", {}, 1).find("CartPole-v1"), std::string::npos);
  EXPECT_NE(message("CartPole-v1", {}, 0).find("at least 1"), std::string::npos);
  EXPECT_NE(message("FrozenLake-v1", {{"is_sliperry", "true"}}, 1).find("is_slippery"),
            std::string::npos);
  EXPECT_NE(message("FrozenLake-v1", {{"map_name", "5x5"}}, 1).find("4x4"), std::string::npos);
}

// Mean return of a uniformly random policy over n episodes.
double random_return(const std::string& id, int episodes, double* standard_error) {
  const std::unique_ptr<VecEnv> env = make(id, {.num_envs = episodes, .seed = 12});
  std::vector<double> returns(episodes, 0.0);
  std::vector<bool> over(episodes, false);
  for (int t = 0; t < env->spec().max_episode_steps; ++t) {
    const Rollout out = roll(*env, t, 1, episodes);
    for (int n = 0; n < episodes; ++n) {
      if (!over[n]) returns[n] += out.rewards[n];
      over[n] = over[n] || out.terminated[n] || out.truncated[n];
    }
  }
  double mean = 0.0, squares = 0.0;
  for (const double r : returns) mean += r / episodes;
  for (const double r : returns) squares += (r - mean) * (r - mean);
  *standard_error = std::sqrt(squares / (episodes - 1) / episodes);
  return mean;
}

// Another time limit is another task, so scores do not hold.
TEST(Registry, HasNoScoreRangeForAnotherTimeLimit) {
  EXPECT_TRUE(env_spec("CartPole-v1", {}).value().has_score_range);
  EXPECT_TRUE(env_spec("CartPole-v1", {}, 500).value().has_score_range);
  const EnvSpec cut = env_spec("CartPole-v1", {}, 200).value();
  EXPECT_EQ(cut.max_episode_steps, 200);
  EXPECT_FALSE(cut.has_score_range);
  VecEnvOptions options;
  options.num_envs = 1;
  EXPECT_TRUE(make_vec_env("CartPole-v1", {}, options).value()->spec().has_score_range);
  options.max_episode_steps = 200;
  EXPECT_FALSE(make_vec_env("CartPole-v1", {}, options).value()->spec().has_score_range);
}

// Compares with upstream's random policy, by five combined standard errors. The spec's random score
// is the mean of fifty times as many episodes.
TEST(Registry, RandomPolicyReturns) {
  RELEASE_ONLY("repeats until an interval is narrow: the same code many times over");
  struct Case {
    const char* id;
    double mean, error;
  };
  for (const Case& c :
       {Case{"CartPole-v1", 22.6, .3}, Case{"Acrobot-v1", -498.2, 1.8},
        Case{"MountainCar-v0", -200.0, 1e-9}, Case{"MountainCarContinuous-v0", -33.5, .1},
        Case{"Pendulum-v1", -1239.0, 10.0}}) {
    double own = 0.0;
    const double mean = random_return(c.id, 2000, &own);
    EXPECT_NEAR(mean, c.mean, 5.0 * std::hypot(c.error, own)) << c.id;
    EXPECT_NEAR(mean, env_spec(c.id, {}).value().random_score, 5.0 * std::hypot(1e-9, own)) << c.id;
  }
}

// Options may change spaces and reasons that were checked at registration.
TEST(Registry, ChecksTheSpecUnderOptions) {
  SimulatorWithOptions simulator;
  simulator.spec = [](const Overrides& options) {
    EnvSpec spec;
    spec.id = "BoundByOptions-v0";
    spec.observation = Space::box({-1.0f}, {1.0f});
    const std::string asked = options.empty() ? "" : options.front().first;
    spec.action = Space::box({-1.0f}, {asked == "high" ? -5.0f : 1.0f});
    if (asked == "twice") spec.end_reasons = {"fell", "fell", "time_limit"};
    return Result<EnvSpec>(spec);
  };
  simulator.make = [](const Overrides&, const VecEnvOptions&) {
    return Result<std::unique_ptr<VecEnv>>(invalid("there are none"));
  };
  simulator.options = [] { return std::vector<FieldInfo>{}; };
  ASSERT_TRUE(register_environment(simulator_entry("BoundByOptions-v0", simulator)).ok());
  EXPECT_TRUE(env_spec("BoundByOptions-v0", {}, 0).ok());
  for (const Status& refused : {env_spec("BoundByOptions-v0", {{"high", "-5"}}, 0).status(),
                                make_vec_env("BoundByOptions-v0", {{"high", "-5"}}, {}).status()}) {
    EXPECT_NE(refused.message().find("low <= high"), std::string::npos) << refused.message();
  }
  const Status twice = env_spec("BoundByOptions-v0", {{"twice", "1"}}, 0).status();
  EXPECT_NE(twice.message().find("end by 'fell'"), std::string::npos) << twice.message();
}

// A spec that exists only under some options.
TEST(Registry, LetsAnEnvironmentRequireAnOption) {
  SimulatorWithOptions simulator;
  simulator.spec = [](const Overrides& options) -> Result<EnvSpec> {
    if (options.empty()) return invalid("rooms: got none, expected a file");
    EnvSpec spec;
    spec.id = "Rooms-v0";
    spec.observation = Space::box({-1.0f}, {1.0f});
    spec.action = Space::discrete(2);
    return spec;
  };
  simulator.make = [](const Overrides&, const VecEnvOptions&) {
    return Result<std::unique_ptr<VecEnv>>(invalid("there are none"));
  };
  simulator.options = [] { return std::vector<FieldInfo>{}; };
  ASSERT_TRUE(register_environment(simulator_entry("Rooms-v0", simulator)).ok());
  EXPECT_EQ(env_spec("Rooms-v0", {}).status().message(), "rooms: got none, expected a file");
  EXPECT_EQ(env_spec("Rooms-v0", {{"rooms", "a"}}).value().action.size, 2);
  const std::vector<EnvSpec> all = list_envs();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const EnvSpec& spec) {
    return spec.id == "Rooms-v0" && spec.summary.starts_with("Needs options: rooms:");
  }));
}

}  // namespace
}  // namespace broadloom
