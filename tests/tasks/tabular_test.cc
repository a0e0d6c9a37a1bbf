// Exact transition tables, compared with the environments.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/toy_text/cliff_walking.h"
#include "broadloom/env/tasks/toy_text/frozen_lake.h"
#include "broadloom/env/tasks/toy_text/taxi.h"
#include "tests/env/optimal_value.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

FrozenLake::Params lake(const std::string& map_name, bool is_slippery = true,
                        const std::string& desc = "") {
  FrozenLake::Options options;
  options.map_name = map_name;
  options.is_slippery = is_slippery;
  options.desc = desc;
  return FrozenLake::make_params(options).value();
}

void expect_probabilities_sum_to_one(const TabularModel& model) {
  double start = 0.0;
  for (const double p : model.start) start += p;
  EXPECT_NEAR(start, 1.0, 1e-12);
  for (const auto& outcomes : model.transitions) {
    double sum = 0.0;
    for (const TabularModel::Outcome& o : outcomes) {
      sum += o.probability;
      EXPECT_GE(o.next_state, 0);
      EXPECT_LT(o.next_state, model.num_states);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

// Draws every (state, action) `draws` times and compares frequencies with the table, within five
// standard errors. Each has a probability below 1e-6 of a false alarm; the seed is fixed.
template <class Env>
void expect_steps_follow_the_table(const typename Env::Params& params, int draws) {
  const TabularModel model = Env::table(params);
  for (int s = 0; s < model.num_states; ++s) {
    for (int a = 0; a < model.num_actions; ++a) {
      std::map<std::tuple<int, double, bool>, double> expected, seen;
      for (const auto& o : model.outcomes(s, a)) {
        expected[{o.next_state, o.reward, o.terminated}] += o.probability;
      }
      for (int i = 0; i < draws; ++i) {
        Random random(3, Purpose::kUser, static_cast<std::uint32_t>(s * 8 + a), i);
        typename Env::State state{s};
        const float action = static_cast<float>(a);
        const StepResult result = Env::step(params, state, &action, random);
        float index = -1;
        Env::observe(params, state, &index);
        seen[{static_cast<int>(index), result.reward, result.terminated}] += 1.0 / draws;
      }
      for (const auto& [outcome, frequency] : seen)
        ASSERT_TRUE(expected.count(outcome)) << s << " " << a;
      for (const auto& [outcome, p] : expected) {
        EXPECT_NEAR(seen[outcome], p, 5.0 * std::sqrt(p * (1.0 - p) / draws) + 1e-12)
            << s << " " << a;
      }
    }
  }
}

// Each step of these tasks pays one of its terms, or nothing.
template <class Env>
void expect_rewards_are_terms(const typename Env::Params& params) {
  std::set<double> weights{0.0}, seen;
  for (const RewardTerm& term : Env::spec(params).reward_terms) weights.insert(term.weight);
  for (const auto& outcomes : Env::table(params).transitions) {
    for (const TabularModel::Outcome& outcome : outcomes) seen.insert(outcome.reward);
  }
  for (const double reward : seen) EXPECT_TRUE(weights.count(reward)) << reward;
  EXPECT_GE(seen.size() + 1, weights.size());
}

TEST(RewardTerms, MatchTheTables) {
  expect_rewards_are_terms<FrozenLake>(lake("4x4"));
  expect_rewards_are_terms<CliffWalking>(CliffWalking::Params{});
  expect_rewards_are_terms<Taxi>(Taxi::Params{});
}

TEST(Tabular, ProbabilitiesSumToOne) {
  expect_probabilities_sum_to_one(FrozenLake::table(lake("4x4")));
  expect_probabilities_sum_to_one(FrozenLake::table(lake("8x8", false)));
  expect_probabilities_sum_to_one(CliffWalking::table({}));
  expect_probabilities_sum_to_one(CliffWalking::table({.is_slippery = true}));
  expect_probabilities_sum_to_one(Taxi::table({}));
}

TEST(Tabular, StepsFollowTheTables) {
  expect_steps_follow_the_table<FrozenLake>(lake("4x4"), 2000);
  expect_steps_follow_the_table<FrozenLake>(lake("8x8", false), 5);
  expect_steps_follow_the_table<CliffWalking>({}, 5);
  expect_steps_follow_the_table<CliffWalking>({.is_slippery = true}, 2000);
  expect_steps_follow_the_table<Taxi>({}, 3);
}

// Published values: backward induction on upstream's own tables.
TEST(Tabular, ExactOptima) {
  EXPECT_NEAR(optimal_value(FrozenLake::table(lake("4x4")), 100), 0.74419, 1e-5);
  EXPECT_NEAR(optimal_value(FrozenLake::table(lake("8x8")), 200), 0.91322, 1e-5);
  EXPECT_NEAR(optimal_value(FrozenLake::table(lake("8x8")), 100), 0.6407, 1e-4);
  EXPECT_NEAR(optimal_value(FrozenLake::table(lake("8x8")), 500), 0.9989, 1e-4);
  EXPECT_DOUBLE_EQ(optimal_value(FrozenLake::table(lake("4x4", false)), 100), 1.0);
  EXPECT_DOUBLE_EQ(optimal_value(CliffWalking::table({}), 200), -13.0);
  EXPECT_NEAR(optimal_value(Taxi::table({}), 200), 7.93, 5e-3);
}

TEST(Tabular, TaxiHasThreeHundredStarts) {
  RELEASE_ONLY("repeats until every start was seen");
  int starts = 0;
  for (const double p : Taxi::table({}).start) starts += p > 0.0 ? 1 : 0;
  EXPECT_EQ(starts, 300);
  for (int i = 0; i < 2000; ++i) {
    Random random(1, Purpose::kUser, 0, i);
    Taxi::State state{};
    Taxi::reset({}, state, random);
    ASSERT_GT(Taxi::table({}).start[state.code], 0.0) << state.code;
  }
}

TEST(Tabular, ReadsCustomMapsAndRefusesBadOnes) {
  const FrozenLake::Params p = lake("4x4", false, "SFG");
  EXPECT_EQ(p.rows, 1);
  EXPECT_EQ(p.cols, 3);
  EXPECT_DOUBLE_EQ(optimal_value(FrozenLake::table(p), 2), 1.0);
  EXPECT_DOUBLE_EQ(optimal_value(FrozenLake::table(p), 1), 0.0);
  for (const char* bad : {"SF/G", "SFX", "FFG", "S//G", "/"}) {
    FrozenLake::Options options;
    options.desc = bad;
    const Result<FrozenLake::Params> result = FrozenLake::make_params(options);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.status().kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(result.status().message().find("expected"), std::string::npos);
  }
}

TEST(Tabular, IsAvailableFromTheRegistryUnderOptions) {
  EXPECT_EQ(make_tabular_model("FrozenLake-v1", {}).value().num_states, 16);
  EXPECT_EQ(make_tabular_model("FrozenLake8x8-v1", {}).value().num_states, 64);
  EXPECT_EQ(make_tabular_model("CliffWalking-v1", {}).value().num_states, 48);
  EXPECT_EQ(make_tabular_model("Taxi-v3", {}).value().num_actions, 6);
  const TabularModel firm = make_tabular_model("FrozenLake-v1", {{"is_slippery", "false"}}).value();
  EXPECT_EQ(firm.outcomes(0, 1).size(), 1u);
  EXPECT_EQ(make_tabular_model("FrozenLake-v1", {}).value().outcomes(0, 1).size(), 3u);
}

TEST(Tabular, IsListedForOtherEnvironments) {
  const Result<TabularModel> cart_pole = make_tabular_model("CartPole-v1", {});
  ASSERT_FALSE(cart_pole.ok());
  EXPECT_EQ(cart_pole.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(cart_pole.status().message().find("CartPole-v1 is not tabular"), std::string::npos);
  EXPECT_NE(cart_pole.status().message().find("FrozenLake8x8-v1, CliffWalking-v1, Taxi-v3"),
            std::string::npos);
  EXPECT_EQ(make_tabular_model("FrozenLak-v1", {}).status().kind(), ErrorKind::kNotFound);
  EXPECT_FALSE(make_tabular_model("FrozenLake-v1", {{"map", "4x4"}}).ok());
}

}  // namespace
}  // namespace broadloom
