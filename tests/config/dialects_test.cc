// Each file of configs/dialects is a config, and each of its keys acts.
#include <gtest/gtest.h>

#include <string>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/resolve_config.h"
#include "tests/support/folders.h"

namespace broadloom {
namespace {

TEST(Dialects, EachIsAConfigOfABoxTask) {
  for (const char* name : {"cleanrl", "rl_games", "rsl_rl", "sb3", "skrl"}) {
    const std::string file = source_folder() + "/configs/dialects/" + name + ".toml";
    const Result<Overrides> read = read_toml_overrides(file);
    ASSERT_TRUE(read.ok()) << read.status().message();
    Overrides all{{"env_id", "Pendulum-v1"}};
    all.insert(all.end(), read.value().begin(), read.value().end());
    const Result<Config> config = resolve_config(all);
    ASSERT_TRUE(config.ok()) << name << ": " << config.status().message();
    const Result<std::vector<KeyUse>> uses = key_uses(all, config.value());
    ASSERT_TRUE(uses.ok());
    for (const KeyUse& use : uses.value()) EXPECT_TRUE(use.acts) << name << ": " << use.key;
  }
}

TEST(Dialects, ThoseOfAnyActionsAreConfigsOfADiscreteTask) {
  for (const char* name : {"cleanrl", "sb3"}) {
    Result<Overrides> read =
        read_toml_overrides(source_folder() + "/configs/dialects/" + name + ".toml");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(resolve_config(read.value()).ok()) << name;
  }
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
}

}  // namespace
}  // namespace broadloom
