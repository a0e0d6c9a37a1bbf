// The bias study and its parts: blocks cut to a horizon, starts, independent blocks.
// sanitizers: address, threads
#include "research/lab/bias.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/advantages.h"

namespace broadloom {
namespace {

// A policy with fresh parameters in a registered environment.
struct FreshPolicy {
  explicit FreshPolicy(const std::string& id, int limit, const std::string& truncation_mode,
                       double spread = 0.0)
      : config(resolve_config({{"env_id", id},
                               {"max_episode_steps", std::to_string(limit)},
                               {"truncation_mode", truncation_mode}})
                   .take()),
        spec(env_spec(id, {}, limit).take()),
        network(shape(spec)),
        params(network.parameter_count()),
        policy{config, spec, network, params.data()} {
    network.initialise(3, params.data());
    Random random(8, Purpose::kUser, 0, 0);
    for (float& p : params) p += static_cast<float>(spread * random.normal());
  }
  static NetworkShape shape(const EnvSpec& spec) {
    NetworkShape shape;
    shape.observation_size = spec.observation_size();
    shape.action_kind = spec.action.kind;
    shape.action_outputs = spec.action.size;
    shape.hidden_sizes = {16, 16};
    return shape;
  }
  Config config;
  EnvSpec spec;
  ActorCritic network;
  std::vector<float> params;
  Policy policy;
};

TEST(CutBlock, HasTheAdvantagesOfItsOwnHorizon) {
  constexpr int kSteps = 24, kEnvs = 3, kLimit = 5;
  RolloutBlock whole(kSteps + 1, kEnvs, 0, 0, kSteps);
  Random random(5, Purpose::kUser, 0, 0);
  for (int n = 0; n < kEnvs; ++n) {
    int age = n;  // phases differ
    for (int t = 0; t <= kSteps; ++t) {
      const std::size_t i = whole.index(t, n);
      whole.values[i] = static_cast<float>(random.normal());
      whole.rewards[i] = static_cast<float>(random.normal());
      whole.terminated[i] = random.uniform() < 0.1;
      ++age;
      whole.truncated[i] = !whole.terminated[i] && age == kLimit;
      if (whole.terminated[i] || whole.truncated[i]) age = 0;
      if (whole.truncated[i]) {
        whole.final_values[whole.final_index(n, whole.truncations[n]++)] =
            static_cast<float>(random.normal());
      }
    }
  }
  for (const int T : {1, 4, 8, 12}) {
    RolloutBlock cut = cut_block(whole, 1, 3, T, kSteps / T, kLimit);
    compute_advantages(cut, 0, cut.N, 0.9, 0.8, TruncationMode::kBootstrap);
    int truncations = 0;
    for (int n = 1; n < 3; ++n) {
      // The truncations of environment n, in order of time.
      std::map<int, float> final_values;
      for (int t = 0, slot = 0; t <= kSteps; ++t) {
        if (whole.truncated[whole.index(t, n)])
          final_values[t] = whole.final_values[whole.final_index(n, slot++)];
      }
      for (int t = 0; t < kSteps; ++t) {
        double advantage = 0.0, weight = 1.0;
        for (int u = t;; ++u) {  // sum of discounted TD errors to the end of the episode or piece
          const std::size_t i = whole.index(u, n);
          const bool end = whole.terminated[i] || whole.truncated[i];
          const double next = whole.terminated[i]  ? 0.0
                              : whole.truncated[i] ? final_values.at(u)
                                                   : whole.values[whole.index(u + 1, n)];
          advantage += weight * (whole.rewards[i] + 0.9 * next - whole.values[i]);
          weight *= 0.9 * 0.8;
          if (end || (u + 1) % T == 0) break;
        }
        const int column = (n - 1) * (kSteps / T) + t / T;
        EXPECT_NEAR(cut.advantages[cut.index(t % T, column)], advantage, 1e-5);
        truncations += whole.truncated[whole.index(t, n)];
      }
    }
    EXPECT_GT(truncations, 4);
  }
}

// Pendulum never terminates. With synchronised starts, T equal to the limit, lambda 1 and the limit
// as an end, a block consists of complete episodes, so both gradients are equal.
TEST(BiasStudy, IsZeroForCompleteEpisodes) {
  const FreshPolicy fresh("Pendulum-v1", 20, "as_termination");
  ThreadPool pool(2);
  const auto results =
      study_bias(fresh.policy, nullptr, {{20, 5}, {1.0, 0.5}, {0.9}, 0.1, 100000}, 1, pool);
  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_EQ(results.value().size(), 4u);
  const BiasResult& whole = results.value()[0];
  EXPECT_EQ(whole.num_steps, 20);
  EXPECT_EQ(whole.lambda, 1.0);
  EXPECT_LT(std::abs(whole.bias_squared.value),
            1e-6 * std::abs(results.value()[1].bias_squared.value));
  // If noise exceeds the reference, it has no direction.
  if (whole.reference_norm.low > 0.0) {
    EXPECT_NEAR(whole.cosine.value, 1.0, 1e-3);
  } else {
    EXPECT_TRUE(std::isnan(whole.cosine.value));
  }
  // Shorter traces and blocks weight the samples differently.
  for (std::size_t c = 1; c < 4; ++c) {
    EXPECT_GT(std::abs(results.value()[c].bias_squared.value), 1e-9) << c;
  }
}

TEST(BiasStudy, HasTheSameBitsForAnyThreads) {
  const FreshPolicy fresh("CartPole-v1", 30, "bootstrap");
  ThreadPool one(1), three(3);
  const auto starts = StartPool::create(fresh.policy, 4, one);
  ASSERT_TRUE(starts.ok());
  const BiasSettings settings{{4, 8}, {0.9}, {0.99}, 0.1, 60000};
  const auto a = study_bias(fresh.policy, &starts.value(), settings, 4, one);
  const auto b = study_bias(fresh.policy, &starts.value(), settings, 4, three);
  ASSERT_TRUE(a.ok() && b.ok());
  for (std::size_t c = 0; c < a.value().size(); ++c) {
    EXPECT_EQ(a.value()[c].bias_squared.value, b.value()[c].bias_squared.value);
    EXPECT_EQ(a.value()[c].bias_squared.high, b.value()[c].bias_squared.high);
    EXPECT_EQ(a.value()[c].cosine.low, b.value()[c].cosine.low);
  }
}

TEST(BiasStudy, NeedsATimeLimit) {
  FreshPolicy fresh("CliffWalking-v1", 0, "bootstrap");
  if (env_spec("CliffWalking-v1", {}).value().max_episode_steps > 0) GTEST_SKIP();
  ThreadPool pool(1);
  const auto results = study_bias(fresh.policy, nullptr, {{4}, {0.9}, {0.99}, 0.1, 1000}, 1, pool);
  EXPECT_EQ(results.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(results.status().message().find("no time limit"), std::string::npos);
}

// With episodes of a fixed length, all phases are equally frequent.
TEST(StartPool, SpreadsThePhasesOfEpisodes) {
  const FreshPolicy fresh("Pendulum-v1", 40, "bootstrap");
  ThreadPool pool(2);
  const auto starts = StartPool::create(fresh.policy, 9, pool);
  ASSERT_TRUE(starts.ok());
  VecEnvOptions options;
  options.num_envs = 20000;
  options.max_episode_steps = 40;
  const auto envs = make_vec_env("Pendulum-v1", {}, options);
  ASSERT_TRUE(envs.ok());
  std::vector<float> no_states;
  ASSERT_TRUE(starts.value().draw(1, *envs.value(), no_states).ok());
  std::vector<int> counts(40, 0);
  for (int n = 0; n < 20000; ++n) ++counts.at(envs.value()->episode_step(n));
  double chi_square = 0.0;
  for (const int c : counts) chi_square += (c - 500.0) * (c - 500.0) / 500.0;
  EXPECT_LT(chi_square, 120.0);  // 39 degrees of freedom; the pool itself has 262,144 states
}

TEST(BlockSource, RoundsAndCopiesAreIndependent) {
  const FreshPolicy fresh("Pendulum-v1", 40, "bootstrap");
  ThreadPool one(1), two(2);
  BlockSource source(fresh.policy, nullptr, 5, one), again(fresh.policy, nullptr, 5, two);
  const auto a = source.collect({3, 6}, 4, 0), b = again.collect({3, 6}, 4, 0);
  const auto c = source.collect({3, 6}, 4, 1), d = source.collect({6, 3}, 2, 0);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok() && d.ok());
  EXPECT_EQ(a.value()->observations, b.value()->observations);
  EXPECT_EQ(a.value()->last_values, b.value()->last_values);
  // No two environments of any block begin equally, even in other rounds or shapes.
  std::vector<float> first;
  for (const auto* block : {&a, &c, &d}) {
    for (int n = 0; n < block->value()->N; ++n) {
      first.push_back(block->value()->observations.floats()[static_cast<std::size_t>(n) * 3 + 2]);
    }
  }
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

}  // namespace
}  // namespace broadloom
