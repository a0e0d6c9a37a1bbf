// The two scores of every environment, used to normalise returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "tests/env/optimal_value.h"

namespace broadloom {
namespace {

// Expected return of uniformly random actions over `horizon` steps.
double random_value(const TabularModel& model, int horizon) {
  std::vector<double> value(static_cast<std::size_t>(model.num_states), 0.0), next = value;
  double change = 1.0;
  for (int step = 0; step < horizon && change > 1e-10; ++step) {
    change = 0.0;
    for (int s = 0; s < model.num_states; ++s) {
      double sum = 0.0;
      for (int a = 0; a < model.num_actions; ++a) {
        for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
          sum += o.probability * (o.reward + (o.terminated ? 0.0 : value[o.next_state]));
        }
      }
      next[s] = sum / model.num_actions;
      change = std::max(change, std::abs(next[s] - value[s]));
    }
    std::swap(value, next);
  }
  double expected = 0.0;
  for (int s = 0; s < model.num_states; ++s) expected += model.start[s] * value[s];
  return expected;
}

// No near-optimal scores of MinAtar's games are known.
TEST(ScoreRange, ExistsForAllButMinAtar) {
  for (const EnvSpec& spec : list_envs()) {
    if (spec.id.starts_with("MinAtar/")) {
      EXPECT_FALSE(spec.has_score_range) << spec.id;
      continue;
    }
    if (!is_built_in(spec.id)) continue;  // registered by other tests
    EXPECT_TRUE(spec.has_score_range) << spec.id;
    EXPECT_LT(spec.random_score, spec.reference_score) << spec.id;
  }
}

// Without a time limit, use enough steps for the value to converge.
TEST(ScoreRange, IsExactForTabularEnvironments) {
  int tables = 0;
  for (const EnvSpec& spec : list_envs()) {
    const Result<TabularModel> model = make_tabular_model(spec.id, {});
    if (!model.ok()) continue;
    ++tables;
    const bool limited = spec.max_episode_steps > 0;
    const double random = random_value(model.value(), limited ? spec.max_episode_steps : 10000000);
    const double best = optimal_value(model.value(), limited ? spec.max_episode_steps : 1000);
    EXPECT_NEAR(random, spec.random_score, 1e-8 * std::max(1.0, std::abs(random))) << spec.id;
    EXPECT_NEAR(best, spec.reference_score, 1e-8) << spec.id;
  }
  EXPECT_EQ(tables, 4);
}

TEST(ScoreRange, IsGoneWithOtherOptions) {
  EXPECT_TRUE(env_spec("CartPole-v1", {{"gravity", "9.8"}}).value().has_score_range);
  EXPECT_FALSE(env_spec("CartPole-v1", {{"gravity", "9.0"}}).value().has_score_range);
  EXPECT_FALSE(env_spec("FrozenLake-v1", {{"map_name", "8x8"}}).value().has_score_range);
  EXPECT_TRUE(env_spec("FrozenLake8x8-v1", {{"map_name", "8x8"}}).value().has_score_range);
  EXPECT_FALSE(env_spec("FrozenLake8x8-v1", {{"map_name", "4x4"}}).value().has_score_range);
}

}  // namespace
}  // namespace broadloom
