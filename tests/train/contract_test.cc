// The contract that a run prints before it starts.
#include "broadloom/train/contract.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace broadloom {
namespace {

RolloutContract contract_of(const Overrides& overrides) {
  const Result<Config> config = resolve_config(overrides);
  EXPECT_TRUE(config.ok()) << config.status().message();
  const Result<RolloutContract> contract = make_contract(config.value(), 2);
  EXPECT_TRUE(contract.ok()) << contract.status().message();
  return contract.value();
}

// A newer plug-in says its version there; its hash is recorded, and is noted if it differs.
TEST(Contract, RecordsTheSourceOfEnvironmentsThatNothingElseNames) {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  EXPECT_NE(spec.upstream, "");
  EXPECT_EQ(recorded_upstream(spec), "");
  spec.id = "NoSuchCart-v0";
  spec.upstream = "cart 1.0, a plug-in";
  EXPECT_EQ(recorded_upstream(spec), spec.upstream);
  spec.plugin = {"cart", "1.0", "0011"};
  EXPECT_EQ(recorded_upstream(spec), "");
}

// 4,096 environments, 24 steps, 128 families: the numbers of a worked example are 98,304 samples
// per update and 32 environments per family.
TEST(Contract, HasTheNumbersOfAWorkedExample) {
  const RolloutContract contract = contract_of({{"num_envs", "4096"},
                                                {"num_steps", "24"},
                                                {"seed_families", "128"},
                                                {"eval_interval", "10"},
                                                {"eval_episodes", "256"},
                                                {"total_timesteps", "1000000"},
                                                {"memory_limit", "100"}});
  EXPECT_EQ(contract.batch_size, 98304);
  EXPECT_EQ(contract.observation_size, 4);
  EXPECT_EQ(contract.families, 128);
  EXPECT_EQ(contract.envs_per_family, 32);
  EXPECT_EQ(contract.eval_episodes, 256);
  EXPECT_EQ(contract.iterations, 10);
  EXPECT_EQ(contract.minibatch_size, 24576);
  EXPECT_EQ(contract.gradient_steps, 10 * 4 * 4);
  EXPECT_EQ(contract.memory_allowed, 100000000u);
  const std::string text = contract_text(contract);
  for (const char* part :
       {"Block (T, N, D) = (24, 4096, 4): 98,304 samples per update, 10 updates",
        "4 epochs of 4 minibatches of 24,576 samples; 160 gradient steps",
        "Seed families: 128, with 32 environments in each", "Seed: 1. Threads: 2. Memory: ",
        "; 100 MB allowed; the program itself takes some MB more"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(contract.budget, "");  // 1.7 % are left out, of 10 updates
}

TEST(Contract, SaysNothingOfWhatIsAsEver) {
  const std::string text = contract_text(contract_of({}));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  for (const char* part : {"families", "Strata", "Warning", "Note"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(Contract, SaysWhereMinibatchesAreNotAsLargeAsAskedFor) {
  const auto text = [](const char* size) {
    return contract_text(contract_of({{"num_steps", "64"}, {"minibatch_size", size}}));
  };
  EXPECT_NE(text("100").find("3 minibatches of 85 or 86 samples; "), std::string::npos)
      << text("100");
  EXPECT_NE(
      text("100").find("\nNote: minibatch_size = 100 was asked for, which does not divide the "
                       "block of 256: each epoch has 3 minibatches of 85 or 86 samples "
                       "instead, the fewest of at most 100\n"),
      std::string::npos)
      << text("100");
  EXPECT_NE(text("128").find("2 minibatches of 128 samples; "), std::string::npos);
  EXPECT_EQ(text("128").find("Note: minibatch_size"), std::string::npos);
}

TEST(Contract, WarnsOfStepsThatNoBlockTakesAndOfFewUpdates) {
  const Overrides wide{
      {"env_id", "Pendulum-v1"}, {"num_envs", "64"}, {"total_timesteps", "200000"}};
  EXPECT_NE(contract_text(contract_of(wide))
                .find("\nWarning: 200,000 steps give only 1 update, and at least 10 are advised; "
                      "131,072 of the steps are trained, 34 % are left out: choose "
                      "total_timesteps = 1310720, or num_envs = 8\n"),
            std::string::npos);
  const auto budget = [&](const Overrides& more) {
    Overrides all = wide;
    all.insert(all.end(), more.begin(), more.end());
    return contract_of(all).budget;
  };
  EXPECT_EQ(budget({{"total_timesteps", "1310720"}}), "");
  EXPECT_EQ(budget({{"num_envs", "8"}}), "");
  EXPECT_EQ(budget({{"total_timesteps", "393216"}}),
            "Note: 393,216 steps give only 3 updates, and at least 10 are advised: choose "
            "total_timesteps = 1310720, or num_envs = 19");
  // Fewer environments must keep the families, and minibatches their samples.
  EXPECT_EQ(budget({{"num_envs", "60"}, {"seed_families", "6"}}).substr(0, 16), "Warning: 200,000");
  EXPECT_NE(budget({{"num_envs", "60"}, {"seed_families", "6"}}).find("num_envs = 6"),
            std::string::npos);
  EXPECT_EQ(budget({{"num_envs", "60"}, {"seed_families", "30"}}).find("num_envs ="),
            std::string::npos);
}

TEST(Contract, NamesStrataWithTheirShares) {
  const RolloutContract contract = contract_of({{"strata.wide.force", "5..15"},
                                                {"strata.wide.weight", "3"},
                                                {"strata.narrow.force", "9,11"},
                                                {"strata.narrow.gravity", "9.8"},
                                                {"strata_sampling", "stratified"},
                                                {"disturb.obs_noise", "0.1"}});
  EXPECT_NE(contract_text(contract).find("\nDisturbed by: obs_noise 0.1\n"), std::string::npos);
  ASSERT_EQ(contract.strata.size(), 2u);
  EXPECT_EQ(contract.strata[0].name, "narrow");
  EXPECT_EQ(contract.strata[0].share, 0.25);
  EXPECT_EQ(contract.strata[1].ranges, (Overrides{{"force", "5..15"}}));
  EXPECT_EQ(contract_text(contract).find("Curriculum"), std::string::npos);
  EXPECT_NE(
      contract_text(contract).find(
          "Strata: stratified; narrow 25 %, force 9..11, gravity 9.8; wide 75 %, force 5..15"),
      std::string::npos);
}

TEST(Contract, NamesTheCurriculum) {
  const RolloutContract contract = contract_of({{"strata.wide.force", "5..15"},
                                                {"strata.narrow.force", "9..11"},
                                                {"curriculum", "narrow,wide"},
                                                {"curriculum_episodes", "3"},
                                                {"curriculum_down", "0.55"}});
  EXPECT_NE(contract_text(contract).find(
                "\nCurriculum: narrow, wide; up from 80 %, down below 55 % of 3 episodes; "),
            std::string::npos)
      << contract_text(contract);
}

}  // namespace
}  // namespace broadloom
