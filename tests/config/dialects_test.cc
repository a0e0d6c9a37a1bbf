// The key `dialect` sets each choice of its library that acts, and the user's own keys win.
#include "broadloom/config/dialects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "broadloom/setup/resolve_config.h"
#include "tests/support/folders.h"

namespace broadloom {
namespace {

std::string value_of(const Config& config, const std::string& key) {
  for (const auto& [name, text] : to_overrides(config)) {
    if (name == key) return text;
  }
  return "no such key";
}

// Its text as a config writes it: "1e-3" is "0.001".
std::string canonical(const std::string& key, const std::string& text) {
  Config config;
  EXPECT_TRUE(set_config(config, key, text).ok());
  return value_of(config, key);
}

TEST(Dialects, EachSetsAllItsKeysOnABoxTask) {
  for (const std::string& name : dialect_names()) {
    const Result<Config> config = resolve_config({{"env_id", "Pendulum-v1"}, {"dialect", name}});
    ASSERT_TRUE(config.ok()) << name << ": " << config.status().message();
    EXPECT_EQ(config.value().dialect, name);
    const Result<Overrides> keys = dialect_keys(name);
    ASSERT_TRUE(keys.ok()) << keys.status().message();
    EXPECT_EQ(keys.value().empty(), name == "none");
    for (const auto& [key, text] : keys.value()) {
      EXPECT_EQ(value_of(config.value(), key), canonical(key, text)) << name << ": " << key;
    }
    const Result<std::vector<KeyUse>> uses = key_uses(keys.value(), config.value());
    ASSERT_TRUE(uses.ok());
    for (const KeyUse& use : uses.value()) EXPECT_TRUE(use.acts) << name << ": " << use.key;
  }
}

TEST(Dialects, AreTheFilesOfTheirFolder) {
  std::vector<std::string> files{"none"};
  for (const auto& entry :
       std::filesystem::directory_iterator(source_folder() + "/configs/dialects")) {
    files.push_back(entry.path().stem().string());
    const Result<Overrides> read = read_toml_overrides(entry.path().string());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value(), dialect_keys(files.back()).value()) << files.back();
  }
  std::vector<std::string> names = dialect_names();
  std::sort(files.begin(), files.end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(files, names);
}

TEST(Dialects, LeaveKeysOfBoxActionsAloneOnADiscreteTask) {
  for (const std::string& name : dialect_names()) {
    const Result<Config> config = resolve_config({{"dialect", name}});
    ASSERT_TRUE(config.ok()) << name << ": " << config.status().message();
    EXPECT_EQ(config.value().std_form, "log") << name;
    EXPECT_EQ(config.value().kl_estimate, "samples") << name;
    EXPECT_EQ(config.value().normaliser, "exact") << name;
  }
}

TEST(Dialects, YieldToOwnKeysInAnyOrder) {
  const Config late =
      resolve_config({{"dialect", "sb3"}, {"gamma", "0.9"}, {"num_minibatches", "8"}}).take();
  const Config early =
      resolve_config({{"gamma", "0.9"}, {"num_minibatches", "8"}, {"dialect", "sb3"}}).take();
  EXPECT_EQ(to_overrides(late), to_overrides(early));
  EXPECT_EQ(late.gamma, 0.9);
  EXPECT_EQ(late.num_steps, 2048);
  EXPECT_EQ(late.minibatch_count(), 8);
  const Config image =
      resolve_config(
          {{"env_id", "MinAtar/Breakout-v1"}, {"dialect", "sb3"}, {"encoder", "minatar"}})
          .take();
  EXPECT_EQ(image.activation, "relu");
  const Config raw =
      resolve_config({{"env_id", "Pendulum-v1"}, {"dialect", "rsl_rl"}, {"norm_obs", "false"}})
          .take();
  EXPECT_EQ(raw.obs_eps, Config{}.obs_eps);
}

// Errors would name keys that the user never set.
TEST(Dialects, LeaveOutKeysThatOwnChoicesRefuse) {
  const Result<Config> beta = resolve_config(
      {{"env_id", "Pendulum-v1"}, {"dialect", "rl_games"}, {"action_distribution", "beta"}});
  ASSERT_TRUE(beta.ok()) << beta.status().message();
  EXPECT_EQ(beta.value().bounds_coef, 0.0);
  const Result<Config> memory =
      resolve_config({{"dialect", "sb3"}, {"num_envs", "8"}, {"recurrent", "lstm"}});
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory.value().num_steps, 2048);
  EXPECT_EQ(memory.value().minibatch_size % 2048, 0);
}

// Its values stay what they were if the file of the dialect changes.
TEST(Dialects, GiveARecordNoValues) {
  const Config record = resolve_record({{"dialect", "sb3"}, {"gamma", "0.9"}}).take();
  EXPECT_EQ(record.dialect, "sb3");
  EXPECT_EQ(record.gamma, 0.9);
  EXPECT_EQ(record.num_steps, Config{}.num_steps);
}

TEST(Dialects, RefuseAnUnknownNameAndAnotherAlgorithm) {
  const Status misspelt = resolve_config({{"dialect", "sb4"}}).status();
  EXPECT_EQ(misspelt.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(misspelt.message().find("dialect: got 'sb4'"), std::string::npos) << misspelt.message();
  EXPECT_NE(misspelt.message().find("did you mean 'sb3'?"), std::string::npos)
      << misspelt.message();
  const Status other = resolve_config({{"dialect", "sb3"}, {"algorithm", "pqn"}}).status();
  EXPECT_NE(other.message().find("it needs algorithm = ppo or ppo_rnd"), std::string::npos)
      << other.message();
}

// A deviation outside its bounds would never learn.
TEST(Deviation, BeginsWithinItsBounds) {
  const auto message_of = [](Overrides keys) {
    keys.emplace_back("env_id", "Pendulum-v1");
    return resolve_config(keys).status().message();
  };
  EXPECT_NE(message_of({{"std_form", "scalar"}, {"std_max", "1e-7"}})
                .find("std_max: got 1e-07, expected 0 or at least 1e-06, the least deviation"),
            std::string::npos);
  EXPECT_NE(message_of({{"std_min", "2"}, {"std_max", "1"}}).find("at least 2, as std_min"),
            std::string::npos);
  EXPECT_NE(message_of({{"std_min", "2"}}).find("log_std_init: got 0, a deviation of 1"),
            std::string::npos);
  EXPECT_NE(message_of({{"std_form", "scalar"}, {"log_std_init", "-20"}}).find("(1e-06 to inf)"),
            std::string::npos);
  EXPECT_EQ(message_of({{"std_min", "2"}, {"log_std_init", "1"}}), "");
  EXPECT_EQ(message_of({{"log_std_init", "-20"}}), "");
  EXPECT_NE(message_of({{"action_distribution", "beta"}, {"bounds_coef", "0.1"}})
                .find("bounds_coef: got 0.1 with action_distribution = beta, which has no means"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
