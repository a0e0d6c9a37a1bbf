// Warnings about steps that whole blocks leave out.
#include "broadloom/config/budget.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <vector>

#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

std::vector<int> counts_from(Config config) {
  std::vector<int> counts;
  while ((config.num_envs = next_fewer_envs(config)) > 0) counts.push_back(config.num_envs);
  return counts;
}

TEST(Budget, FewerEnvironmentsAreTheMostForEachNumberOfUpdates) {
  const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                {"num_envs", "12"},
                                                {"num_steps", "4"},
                                                {"num_minibatches", "1"},
                                                {"total_timesteps", "103"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(counts_from(config.value()), (std::vector<int>{8, 6, 5, 4, 3, 2, 1}));
  Config families = config.value();
  families.seed_families = 3;
  EXPECT_EQ(counts_from(families), (std::vector<int>{6, 3}));
}

// No smaller block has room for the minibatch, so none is suggested.
TEST(Budget, SuggestsNoSmallerBlockIfAMinibatchIsTheWholeBlock) {
  const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                {"num_envs", "65536"},
                                                {"num_steps", "8"},
                                                {"minibatch_size", "524288"},
                                                {"total_timesteps", "5000000"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_TRUE(counts_from(config.value()).empty());
  const std::string warning = budget_warning(config.value());
  EXPECT_EQ(warning.find("num_envs"), std::string::npos) << warning;
  EXPECT_NE(warning.find("choose total_timesteps = "), std::string::npos) << warning;
  Config half = config.value();
  half.minibatch_size = 524288 / 2;
  EXPECT_LE(counts_from(half).size(), 10U);
  half.minibatch_size = 0;
  half.num_minibatches = 524288 / 2;
  EXPECT_LE(counts_from(half).size(), 10U);
}

TEST(Budget, OneBudgetSuitsAllCellsOfAStudy) {
  std::vector<Config> configs;
  for (const auto& [envs, steps] : {std::pair("8", "32"), {"32", "32"}, {"128", "8"}}) {
    configs.push_back(resolve_config({{"env_id", "CartPole-v1"},
                                      {"num_envs", envs},
                                      {"num_steps", steps},
                                      {"total_timesteps", "20000"}})
                          .take());
  }
  EXPECT_EQ(common_budget(configs), 20480);
  EXPECT_EQ(budget_warning(configs[1], "32x32", false),
            "Note: 32x32: 20,000 steps give 19 updates; 19,456 of the steps are trained, 2.7 % are "
            "left out");
  EXPECT_EQ(budget_warning(configs[1], "32x32", true),
            budget_warning(configs[1], "32x32", false) + ": choose total_timesteps = 20480");
  EXPECT_EQ(budget_warning(configs[0], "8x32", true), "");
  for (Config& config : configs) config.total_timesteps = 20480;
  EXPECT_EQ(common_budget(configs), 20480);
  configs[0].total_timesteps = 10240;
  EXPECT_EQ(common_budget(configs), 0);
  EXPECT_EQ(common_budget({}), 0);
}

}  // namespace
}  // namespace broadloom
