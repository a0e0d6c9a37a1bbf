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

}  // namespace
}  // namespace broadloom
