// Noise, delay and pushes on environments.
#include "broadloom/env/disturbance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/env/batched_env.h"
#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/environment.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

// Its observation and reward are the received action. An action above 0.9 ends the episode.
struct Echo {
  struct Params {
    double unused = 0.0;
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    double action;
  };
  static constexpr auto members = std::tuple{&State::action};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Echo";
    spec.observation = Space::box({-1}, {1});
    spec.action = Space::box({-1}, {1});
    spec.max_episode_steps = 50;
    return spec;
  }
  static void reset(const Params&, State& s, Random&) { s.action = 0; }
  static StepResult step(const Params&, State& s, const float* action, Random&) {
    s.action = action[0];
    return {action[0], action[0] > 0.9f};
  }
  static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.action);
  }
};
static_assert(Environment<Echo>);

std::unique_ptr<VecEnv> echo(const Disturbance& disturbance, const VecEnvOptions& options) {
  return disturb(std::make_unique<BatchedEnv<Echo>>(Echo::Params{}, Echo::spec({}), options),
                 disturbance, options);
}

const VecEnvOptions kOptions{.num_envs = 10, .seed = 4};

// The rewards are the received actions.
TEST(Disturbance, DelaysActionsWithinTheirEpisode) {
  for (const int delay : {1, 3, 7}) {
    const std::unique_ptr<VecEnv> env = echo({.action_delay = delay}, kOptions);
    const Rollout out = roll(*env, 0, 300, 10);
    std::vector<int> start(10, 0);
    int ended = 0;
    for (int t = 0; t < 300; ++t) {
      for (int n = 0; n < 10; ++n) {
        float expected = 0.0f;
        draw_actions(env->spec(), n, n + 1, std::max(t - delay, start[n]), 1 << 30, &expected);
        const std::size_t row = static_cast<std::size_t>(t) * 10 + n;
        ASSERT_EQ(out.rewards[row], expected) << delay << ", step " << t;
        if (out.terminated[row] || out.truncated[row]) {
          start[n] = t + 1;
          ++ended;
        }
      }
    }
    EXPECT_GT(ended, 50);
  }
}

// Every episode has one delay of the range.
TEST(Disturbance, DrawsTheDelayOfEachEpisode) {
  const std::unique_ptr<VecEnv> env =
      echo({.action_delay = 2, .action_delay_max = 5}, {.num_envs = 100, .seed = 4});
  const Rollout out = roll(*env, 0, 300, 100);
  std::vector<int> start(100, 0);
  std::vector<int> episodes(8);
  std::vector<std::set<int>> possible(100, {0, 1, 2, 3, 4, 5, 6, 7});
  for (int t = 0; t < 300; ++t) {
    for (int n = 0; n < 100; ++n) {
      const std::size_t row = static_cast<std::size_t>(t) * 100 + n;
      std::erase_if(possible[n], [&](int delay) {
        float expected = 0.0f;
        draw_actions(env->spec(), n, n + 1, std::max(t - delay, start[n]), 1 << 30, &expected);
        return out.rewards[row] != expected;
      });
      ASSERT_FALSE(possible[n].empty());
      if (!out.terminated[row] && !out.truncated[row]) continue;
      // An episode must be longer than its delay to show it.
      if (possible[n].size() == 1) episodes[*possible[n].begin()] += 1;
      start[n] = t + 1;
      possible[n] = {0, 1, 2, 3, 4, 5, 6, 7};
    }
  }
  for (const int delay : {0, 1, 6, 7}) EXPECT_EQ(episodes[delay], 0);
  for (const int delay : {2, 3, 4, 5}) EXPECT_GT(episodes[delay], 150) << delay;
  EXPECT_EQ(roll(*echo({.action_delay = 3}, kOptions), 0, 90, 10),
            roll(*echo({.action_delay = 3, .action_delay_max = 3}, kOptions), 0, 90, 10));
}

// The observation that a policy sees when an episode has shown these.
float seen_late(const std::vector<float>& episode, int delay) {
  return episode[static_cast<std::size_t>(
      std::max(static_cast<int>(episode.size()) - 1 - delay, 0))];
}

TEST(Disturbance, DelaysObservationsWithinTheirEpisode) {
  for (const int delay : {1, 3, 9}) {
    const Rollout now = roll(*echo({}, kOptions), 0, 300, 10);
    const Rollout late = roll(*echo({.obs_delay = delay}, kOptions), 0, 300, 4);
    EXPECT_EQ(now.rewards, late.rewards);
    std::vector<std::vector<float>> episodes(10, {0.0f});
    for (std::size_t i = 0; i < now.rewards.size(); ++i) {
      std::vector<float>& episode = episodes[i % 10];
      if (now.terminated[i] || now.truncated[i]) {
        episode.push_back(now.final_observations[i]);
        ASSERT_EQ(late.final_observations[i], seen_late(episode, delay));
        episode.clear();
      }
      episode.push_back(now.observations[i]);
      ASSERT_EQ(late.observations[i], seen_late(episode, delay)) << delay << ", row " << i;
    }
  }
}

TEST(Disturbance, DrawsTheDelayOfTheObservationsOfEachEpisode) {
  const VecEnvOptions options{.num_envs = 100, .seed = 4};
  const Rollout now = roll(*echo({}, options), 0, 300, 100);
  const std::unique_ptr<VecEnv> env = echo({.obs_delay = 0, .obs_delay_max = 3}, options);
  const Rollout late = roll(*env, 0, 300, 100);
  std::vector<std::vector<float>> episodes(100, {0.0f});
  std::vector<std::set<int>> possible(100, {0, 1, 2, 3, 4});
  std::vector<int> counted(5);
  for (std::size_t i = 0; i < now.rewards.size(); ++i) {
    std::vector<float>& episode = episodes[i % 100];
    std::set<int>& delays = possible[i % 100];
    const bool has_ended = now.terminated[i] || now.truncated[i];
    episode.push_back(has_ended ? now.final_observations[i] : now.observations[i]);
    const float shown = has_ended ? late.final_observations[i] : late.observations[i];
    std::erase_if(delays, [&](int delay) { return shown != seen_late(episode, delay); });
    ASSERT_FALSE(delays.empty());
    if (!has_ended) continue;
    if (delays.size() == 1) counted[*delays.begin()] += 1;
    episode = {now.observations[i]};
    ASSERT_EQ(late.observations[i], now.observations[i]);
    delays = {0, 1, 2, 3, 4};
  }
  EXPECT_EQ(counted[4], 0);
  for (int delay = 0; delay < 4; ++delay) EXPECT_GT(counted[delay], 150) << delay;
  std::vector<float> once(100);
  env->observe(0, 100, once.data());
  EXPECT_TRUE(std::equal(once.begin(), once.end(), late.observations.end() - 100));
}

TEST(Disturbance, ReplacesActionsByPushes) {
  const VecEnvOptions options{.num_envs = 200, .seed = 4};
  const std::unique_ptr<VecEnv> env = echo({.push_interval = 10.0, .push_steps = 4}, options);
  const Rollout out = roll(*env, 0, 500, 200);
  int pushed = 0, begun = 0, free_steps = 0;
  std::vector<int> left(200, 0);
  std::vector<float> push(200);
  for (int t = 0; t < 500; ++t) {
    for (int n = 0; n < 200; ++n) {
      const std::size_t row = static_cast<std::size_t>(t) * 200 + n;
      float chosen = 0.0f;
      draw_actions(env->spec(), n, n + 1, t, 1 << 30, &chosen);
      if (left[n] > 0) {
        ASSERT_EQ(out.rewards[row], push[n]);
        --left[n];
        ++pushed;
      } else {
        ++free_steps;
        if (out.rewards[row] != chosen) {
          push[n] = out.rewards[row];
          left[n] = 3;
          ++begun;
        }
      }
      if (out.terminated[row] || out.truncated[row]) left[n] = 0;
    }
  }
  const double rate = double(begun) / free_steps;
  EXPECT_NEAR(rate, 0.1, 5 * std::sqrt(0.09 / free_steps));
  EXPECT_GT(pushed, 2 * begun);
}

TEST(Disturbance, AddsGaussianNoiseOncePerObservation) {
  const VecEnvOptions options{.num_envs = 200, .seed = 4};
  const std::unique_ptr<VecEnv> noisy = echo({.obs_noise = 0.5}, options);
  const std::unique_ptr<VecEnv> clean = echo({}, options);
  const Rollout a = roll(*noisy, 0, 100, 200), b = roll(*clean, 0, 100, 200);
  EXPECT_EQ(a.rewards, b.rewards);
  double mean = 0.0, square = 0.0, fourth = 0.0;
  std::set<float> different;
  const double count = static_cast<double>(a.observations.size());
  for (std::size_t i = 0; i < a.observations.size(); ++i) {
    const double z = (a.observations[i] - b.observations[i]) / 0.5;
    different.insert(static_cast<float>(z));
    mean += z / count;
    square += z * z / count;
    fourth += z * z * z * z / count;
    if (a.ends[i].reason < 0) continue;
    const double last = a.final_observations[i] - b.final_observations[i];
    EXPECT_NE(last, 0.0);
    EXPECT_NE(static_cast<float>(last / 0.5), static_cast<float>(z));
  }
  EXPECT_NEAR(mean, 0.0, 5 / std::sqrt(count));
  EXPECT_NEAR(square, 1.0, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth, 3.0, 5 * std::sqrt(96 / count));
  EXPECT_GT(different.size(), 0.9 * count);
  std::vector<float> once(200), again(200);
  noisy->observe(0, 200, once.data());
  noisy->observe(0, 200, again.data());
  EXPECT_EQ(once, again);
  EXPECT_TRUE(std::equal(once.begin(), once.end(), a.observations.end() - 200));
}

// Each number of an observation has the last deviation that names it, and the draws of a step
// follow each other over the numbers with noise.
TEST(Disturbance, AddsNoiseToTheNamedNumbersAlone) {
  const VecEnvOptions options{.num_envs = 50, .seed = 4};
  const auto made = [&](const Overrides& keys) {
    return make_vec_env("Pendulum-v1", keys, options).take();
  };
  const std::unique_ptr<VecEnv> clean = made({});
  const std::unique_ptr<VecEnv> noisy =
      made({{"disturb.obs_noise", "0.5"}, {"disturb.obs_noise_of", "0..1:0,1..2:0.25,2..2:2"}});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(noisy->spec().observation.high, (std::vector<float>{1.0f, infinity, infinity}));
  const Rollout a = roll(*noisy, 0, 100, 50), b = roll(*clean, 0, 100, 50);
  EXPECT_EQ(a.rewards, b.rewards);
  const double rows = 5000.0;
  std::array<double, 3> squares{};
  for (std::size_t i = 0; i < a.observations.size(); ++i) {
    const double off = a.observations[i] - b.observations[i];
    squares[i % 3] += off * off / rows;
  }
  EXPECT_EQ(squares[0], 0.0);
  EXPECT_NEAR(squares[1], 0.0625, 0.0625 * 5 * std::sqrt(2 / rows));
  EXPECT_NEAR(squares[2], 4.0, 4.0 * 5 * std::sqrt(2 / rows));
  const std::unique_ptr<VecEnv> all = made({{"disturb.obs_noise_of", "0..2:0.5"}});
  const std::unique_ptr<VecEnv> usual = made({{"disturb.obs_noise", "0.5"}});
  EXPECT_EQ(roll(*all, 0, 40, 50).observations, roll(*usual, 0, 40, 50).observations);
}

TEST(Disturbance, AddsNoiseToGroupsOfFloats) {
  const VecEnvOptions options{.num_envs = 20, .seed = 4};
  for (const Overrides& keys :
       {Overrides{{"disturb.obs_noise", "0.3"}}, Overrides{{"disturb.obs_noise_of", "turn:0.3"}},
        Overrides{{"disturb.obs_noise_of", "turn[0..1]:0.3"}}}) {
    const std::unique_ptr<VecEnv> envs = make_vec_env("Turntable-v0", keys, options).take();
    EXPECT_EQ(envs->spec().observation.high[0], 255.0f);
    EXPECT_EQ(envs->spec().observation.high[37], std::numeric_limits<float>::infinity());
    const Rollout out = roll(*envs, 0, 40, 20);
    for (std::size_t i = 0; i < out.observations.size(); ++i) {
      const float x = out.observations[i];
      if (i % 38 < 36) {
        ASSERT_TRUE(x == 0.0f || x == 255.0f);
      } else {
        ASSERT_NE(x, std::round(x));
      }
    }
  }
}

TEST(Disturbance, RefusesNoiseOnWhatIsNotThere) {
  const auto refusal = [](const char* id, const char* text) {
    return env_spec(id, {{"disturb.obs_noise_of", text}}).status().message();
  };
  EXPECT_EQ(refusal("Turntable-v0", "image:0.1"),
            "disturb.obs_noise_of: got 'image:0.1', but noise needs a group of float32 numbers; "
            "observations of Turntable-v0 are Dict(image: 6 x 6 x 1; uint8, turn: 2)");
  EXPECT_NE(refusal("Turntable-v0", "state:0.1").find("there is no such group"), std::string::npos);
  EXPECT_NE(refusal("Turntable-v0", "turn[0..2]:0.1").find("the numbers are 0 to 1"),
            std::string::npos);
  EXPECT_NE(refusal("Pendulum-v1", "1..3:0.1").find("the numbers are 0 to 2"), std::string::npos);
  for (const char* text :
       {"turn:0.1", ":0.1", "2..1:0.1", "1..:0.1", "0..1", "0..1:-1", "0..1:x", "0..1:nan"}) {
    EXPECT_NE(refusal("Pendulum-v1", text).find("expected numbers and a deviation"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(refusal("CartPole-v1", "1:0.1"), "");  // one number
  EXPECT_NE(refusal("FrozenLake-v1", "0..0:0.1").find("disturb.obs_noise_of"), std::string::npos);
}

// A slow reference: all rows of each episode so far.
TEST(Disturbance, DelaysTheNamedGroupsAlone) {
  constexpr int kEnvs = 30, kSteps = 60, kWidth = 38, kImage = 36;
  const VecEnvOptions options{.num_envs = kEnvs, .seed = 4, .max_episode_steps = 9};
  const auto made = [&](const Overrides& keys) {
    return make_vec_env("Turntable-v0", keys, options).take();
  };
  const std::unique_ptr<VecEnv> plain = made({});
  using Row = std::vector<float>;
  std::vector<std::vector<Row>> episodes;
  Row first(std::size_t{kEnvs} * kWidth);
  plain->observe(0, kEnvs, first.data());
  for (int n = 0; n < kEnvs; ++n) {
    episodes.push_back({Row(first.begin() + n * kWidth, first.begin() + (n + 1) * kWidth)});
  }
  const Rollout now = roll(*plain, 0, kSteps, kEnvs);
  const Rollout late = roll(
      *made({{"disturb.obs_delay", "1"}, {"disturb.obs_delay_of", "image:9,image:3,turn:0..2"}}), 0,
      kSteps, 7);
  EXPECT_EQ(now.rewards, late.rewards);
  std::vector<std::set<int>> possible(kEnvs, {0, 1, 2});
  std::set<int> drawn;
  for (std::size_t i = 0; i < now.rewards.size(); ++i) {
    const std::size_t n = i % kEnvs;
    const auto row = [&](const std::vector<float>& rows) {
      return Row(rows.begin() + static_cast<std::ptrdiff_t>(i) * kWidth,
                 rows.begin() + static_cast<std::ptrdiff_t>(i + 1) * kWidth);
    };
    const bool has_ended = now.terminated[i] || now.truncated[i];
    std::vector<Row>& episode = episodes[n];
    episode.push_back(row(has_ended ? now.final_observations : now.observations));
    const Row shown = row(has_ended ? late.final_observations : late.observations);
    const auto seen = [&](int delay) -> const Row& {
      return episode[static_cast<std::size_t>(
          std::max(static_cast<int>(episode.size()) - 1 - delay, 0))];
    };
    ASSERT_TRUE(std::equal(shown.begin(), shown.begin() + kImage, seen(3).begin())) << i;
    std::erase_if(possible[n], [&](int delay) {
      return !std::equal(shown.begin() + kImage, shown.end(), seen(delay).begin() + kImage);
    });
    ASSERT_FALSE(possible[n].empty()) << i;
    if (!has_ended) continue;
    if (possible[n].size() == 1) drawn.insert(*possible[n].begin());
    episode = {row(now.observations)};
    possible[n] = {0, 1, 2};
  }
  EXPECT_EQ(drawn, (std::set<int>{0, 1, 2}));
  const std::unique_ptr<VecEnv> all = made({{"disturb.obs_delay_of", "image:2,turn:2"}});
  EXPECT_EQ(roll(*all, 0, 40, 5), roll(*made({{"disturb.obs_delay", "2"}}), 0, 40, kEnvs));
}

TEST(Disturbance, RefusesDelaysOfWhatIsNotThere) {
  const auto refusal = [](const char* id, const char* text) {
    return env_spec(id, {{"disturb.obs_delay_of", text}}).status().message();
  };
  EXPECT_EQ(refusal("Turntable-v0", "state:1"),
            "disturb.obs_delay_of: got 'state:1', but there is no such group; observations of "
            "Turntable-v0 are Dict(image: 6 x 6 x 1; uint8, turn: 2)");
  EXPECT_NE(refusal("Pendulum-v1", "turn:1").find("disturb.obs_delay delays the whole"),
            std::string::npos);
  EXPECT_NE(refusal("MinAtar/Breakout-v1", "image:1").find("disturb.obs_delay_of"),
            std::string::npos);
  for (const char* text : {"turn", "turn:", ":", "turn:-1", "turn:3..2", "turn:1..", "turn:x",
                           "turn:1001", "turn:0..1001"}) {
    EXPECT_NE(refusal("Turntable-v0", text).find("expected a group and a delay"), std::string::npos)
        << text;
  }
}

const Overrides kAll{{"disturb.obs_noise", "0.1"},
                     {"disturb.action_delay", "2"},
                     {"disturb.push_interval", "20"},
                     {"disturb.push_steps", "3"}};

const Overrides kDrawn{{"disturb.action_delay", "1"},
                       {"disturb.action_delay_max", "4"},
                       {"disturb.obs_delay_max", "3"},
                       {"disturb.obs_noise", "0.1"}};

TEST(DisturbedBatch, BitsDoNotDependOnShardsAndSurviveARestore) {
  for (const char* id : {"CartPole-v1", "Pendulum-v1"}) {
    for (const Overrides& keys : {kAll, kDrawn}) {
      const VecEnvOptions options{
          .num_envs = 12, .seed = 4, .stagger_starts = true, .max_episode_steps = 23};
      const std::unique_ptr<VecEnv> whole = make(id, options, keys);
      EXPECT_EQ(roll(*whole, 0, 60, 12), roll(*make(id, options, keys), 0, 60, 5));
      const std::unique_ptr<VecEnv> other = make(id, options, keys);
      copy_state(*whole, *other);
      EXPECT_EQ(roll(*whole, 60, 60, 12), roll(*other, 60, 60, 12));
    }
  }
}

TEST(DisturbedBatch, DelaysOfGroupsSurviveARestore) {
  const Overrides keys{{"disturb.obs_delay_max", "2"}, {"disturb.obs_delay_of", "image:1..3"}};
  const VecEnvOptions options{.num_envs = 12, .seed = 4, .max_episode_steps = 23};
  const std::unique_ptr<VecEnv> whole = make("Turntable-v0", options, keys);
  EXPECT_EQ(roll(*whole, 0, 60, 12), roll(*make("Turntable-v0", options, keys), 0, 60, 5));
  const std::unique_ptr<VecEnv> other = make("Turntable-v0", options, keys);
  copy_state(*whole, *other);
  EXPECT_EQ(roll(*whole, 60, 60, 12), roll(*other, 60, 60, 12));
}

TEST(DisturbedBatch, PassesTheConformanceChecksWithDelays) {
  const Overrides keys{{"disturb.action_delay_max", "4"}, {"disturb.obs_delay_max", "3"}};
  const ConformanceReport groups = check_vec_env([&](const VecEnvOptions& asked) {
    return make_vec_env("Turntable-v0", {{"disturb.obs_delay_of", "image:2,turn:0..3"}}, asked);
  });
  EXPECT_EQ(groups.findings(), std::vector<std::string>());
  for (const char* id : {"CartPole-v1", "Pendulum-v1"}) {
    const ConformanceReport report =
        check_vec_env([&](const VecEnvOptions& asked) { return make_vec_env(id, keys, asked); });
    EXPECT_EQ(report.findings(), std::vector<std::string>()) << id;
  }
}

TEST(DisturbedBatch, SharesDrawsWithinAFamilyOnly) {
  const VecEnvOptions options{.num_envs = 12, .seed = 4, .seed_families = 3};
  const std::unique_ptr<VecEnv> env = make("CartPole-v1", options, kAll);
  const std::unique_ptr<VecEnv> another = make_another(*env, options);
  const Rollout out = roll(*env, 0, 40, 12, 3);
  EXPECT_EQ(out, roll(*another, 0, 40, 12, 3));
  for (std::size_t i = 0; i < out.observations.size(); ++i) {
    const std::size_t n = i / 4 % 12;
    if (n >= 3) {
      ASSERT_EQ(out.observations[i], out.observations[i - 12]);
    }
  }
  VecEnvOptions evaluation = options;
  evaluation.streams = StreamSet::kEvaluation;
  EXPECT_NE(out, roll(*make("CartPole-v1", evaluation, kAll), 0, 40, 12, 3));
}

TEST(DisturbedBatch, ChangesNothingByDefault) {
  const VecEnvOptions options{.num_envs = 12, .seed = 4};
  const Overrides none{{"disturb.obs_noise", "0"}, {"disturb.push_steps", "9"}};
  EXPECT_EQ(roll(*make("CartPole-v1", options), 0, 60, 12),
            roll(*make("CartPole-v1", options, none), 0, 60, 12));
  EXPECT_TRUE(env_spec("CartPole-v1", none).value().has_score_range);
}

TEST(DisturbedBatch, IsInSpecsAndErrors) {
  const EnvSpec spec = env_spec("Pendulum-v1", kAll).value();
  EXPECT_FALSE(spec.has_score_range);
  EXPECT_TRUE(std::isinf(spec.observation.high[0]));
  const auto expect_error = [](const char* id, const Overrides& keys, const char* words) {
    const Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, keys, {.num_envs = 2});
    ASSERT_FALSE(env.ok()) << words;
    EXPECT_EQ(env.status().kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(env.status().message().find(words), std::string::npos) << env.status().message();
  };
  expect_error("CartPole-v1", {{"disturb.obs_noize", "1"}}, "did you mean 'obs_noise'?");
  expect_error("CartPole-v1", {{"disturb.obs_noise", "-1"}}, "obs_noise: got -1");
  expect_error("CartPole-v1", {{"disturb.obs_delay", "4"}, {"disturb.obs_delay_max", "3"}},
               "disturb.obs_delay_max: got 3, below disturb.obs_delay = 4");
  expect_error("FrozenLake-v1", {{"disturb.obs_delay", "1"}}, "Discrete, and delay needs");
  expect_error("MinAtar/Breakout-v1", {{"disturb.obs_delay_max", "1"}}, "uint8, and delay needs");
  expect_error("CartPole-v1", {{"disturb.action_delay", "1.5"}}, "expected an integer");
  expect_error("Taxi-v3", {{"disturb.obs_noise", "1"}}, "Discrete");
  EXPECT_FALSE(make_tabular_model("Taxi-v3", {{"disturb.action_delay", "1"}}).ok());
  EXPECT_TRUE(make_vec_env("Taxi-v3", {{"disturb.action_delay", "1"}}, {.num_envs = 2}).ok());
}

}  // namespace
}  // namespace broadloom
