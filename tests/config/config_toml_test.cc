// Configs as TOML files.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "broadloom/config/config.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

std::string toml_error(std::string_view text) {
  const Status status = parse_toml_overrides(text, "run.toml").status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  return status.message();
}

TEST(ConfigToml, InstrumentsAreAStringOrAnArray) {
  for (const char* text : {"instruments = \"gradient\"", "instruments = [\"gradient\"]"}) {
    const Result<Overrides> overrides = parse_toml_overrides(text, "run.toml");
    ASSERT_TRUE(overrides.ok()) << overrides.status().message();
    EXPECT_EQ(overrides.value(), (Overrides{{"instruments", "gradient"}}));
  }
  EXPECT_TRUE(parse_toml_overrides("instruments = []", "run.toml").ok());
  EXPECT_NE(toml_error("\ninstruments = [\"rank\"]").find("run.toml:2: instruments: got 'rank'"),
            std::string::npos);
}

TEST(ConfigToml, ReadsFlatKeysAndTheEnvTable) {
  const Result<Overrides> overrides = parse_toml_overrides(
      "env_id = \"FrozenLake-v1\"\n"
      "total_timesteps = 200_000\n"
      "learning_rate = 1e-3\n"
      "clip_vloss = false\n"
      "hidden_sizes = [32, 16]\n"
      "[env]\n"
      "is_slippery = false\n"
      "desc = [\"SF\", \"FG\"]\n",
      "run.toml");
  ASSERT_TRUE(overrides.ok()) << overrides.status().message();
  EXPECT_EQ(overrides.value(), (Overrides{{"env_id", "FrozenLake-v1"},
                                          {"total_timesteps", "200000"},
                                          {"learning_rate", "0.001"},
                                          {"clip_vloss", "false"},
                                          {"hidden_sizes", "32,16"},
                                          {"env.is_slippery", "false"},
                                          {"env.desc", "SF,FG"}}));
}

TEST(ConfigToml, EmptyFilesAreFine) {
  ASSERT_TRUE(parse_toml_overrides("", "run.toml").ok());
  EXPECT_TRUE(parse_toml_overrides("# only words\n", "run.toml").value().empty());
}

TEST(ConfigToml, StrataAreTablesOfRanges) {
  const Result<Overrides> overrides = parse_toml_overrides(
      "[strata.narrow]\nhalf_length = [0.4, 0.6]\nweight = 2\n[strata.wide]\nforce = \"5..15\"\n",
      "run.toml");
  ASSERT_TRUE(overrides.ok()) << overrides.status().message();
  EXPECT_EQ(overrides.value(), (Overrides{{"strata.narrow.half_length", "0.4,0.6"},
                                          {"strata.narrow.weight", "2"},
                                          {"strata.wide.force", "5..15"}}));
  const Result<Config> config = resolve_config(overrides.value());
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Result<Config> again = resolve_config(to_overrides(config.value()));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(to_overrides(again.value()), to_overrides(config.value()));
  const Result<Overrides> disturbed =
      parse_toml_overrides("[disturb]\nobs_noise = 0.1\n", "run.toml");
  ASSERT_TRUE(disturbed.ok()) << disturbed.status().message();
  EXPECT_EQ(to_overrides(resolve_config(disturbed.value()).value()).back(),
            (std::pair<std::string, std::string>{"disturb.obs_noise", "0.1"}));
  EXPECT_NE(toml_error("[disturb]\nnoise = 0.1\n").find("run.toml:2: disturb: unknown"),
            std::string::npos);
  EXPECT_NE(toml_error("\n[strata.narrow]\n").find("run.toml:2: strata.narrow: got an empty table"),
            std::string::npos);
  EXPECT_NE(toml_error("[strata]\nnarrow = 3\n").find("expected a table [strata.narrow]"),
            std::string::npos);
  EXPECT_NE(toml_error("[strata.\"a b\"]\nforce = 3\n").find("a name of letters, digits and _"),
            std::string::npos);
}

TEST(ConfigToml, ErrorsNameFileLineAndCure) {
  EXPECT_EQ(toml_error("seed = 1\nnum_env = 4\n"),
            "run.toml:2: unknown key 'num_env'; did you mean 'num_envs'?");
  EXPECT_EQ(toml_error("num_envs = 0\n"), "run.toml:1: num_envs: got 0, expected 1 to 1048576");
  EXPECT_EQ(toml_error("num_envs = \"4\"\n"),
            "run.toml:1: num_envs: got the string \"4\", expected int without quotation marks");
  EXPECT_EQ(toml_error("gamma = nan\n"),
            "run.toml:1: gamma: got 'nan', expected a finite number, such as 0.5 or 1e-3, 0 to 1");
  EXPECT_NE(toml_error("seed = 1\n\nseed = \n").find("run.toml:3: not valid TOML: "),
            std::string::npos);
  EXPECT_NE(toml_error("seed = 2020-01-01\n").find("got a date or time"), std::string::npos);
  EXPECT_NE(toml_error("[ppo]\ngamma = 0.9\n")
                .find("the only tables are [env], [disturb] and [strata.<name>]"),
            std::string::npos);
  EXPECT_NE(toml_error("num_envs = 1.5\n").find("expected an integer"), std::string::npos);
  EXPECT_NE(toml_error("lr = 0.1\n").find("'lr'; did you mean 'learning_rate'?"),
            std::string::npos);
  EXPECT_NE(toml_error("num_envs = true\n").find("expected an integer"), std::string::npos);
  EXPECT_NE(toml_error("clip_vloss = 3\n").find("expected true or false"), std::string::npos);
  EXPECT_NE(toml_error("seed = -1\n").find("got '-1', expected an integer"), std::string::npos);
}

TEST(ConfigToml, MissingFilesAreNotFound) {
  const Result<Overrides> missing = read_toml_overrides("no/such/file.toml");
  EXPECT_EQ(missing.status().kind(), ErrorKind::kNotFound);
  EXPECT_NE(missing.status().message().find("no/such/file.toml"), std::string::npos);
  EXPECT_EQ(read_toml_overrides("/").status().kind(), ErrorKind::kIo);
}

TEST(ConfigToml, RandomBytesNeverCrash) {
  const std::string pieces[] = {"seed", "=",   "1", "\n", "[env]", "[",  "]", "\"",  "'",
                                ",",    "{",   "}", ".",  "#",     "e9", "-", "nan", "hidden_sizes",
                                "\\u",  "\xff"};
  std::mt19937_64 random(11);
  int accepted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    const int count = static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) text += pieces[random() % std::size(pieces)];
    const Result<Overrides> overrides = parse_toml_overrides(text, "fuzz");
    accepted += overrides.ok() ? 1 : 0;
    EXPECT_EQ(overrides.status().message().empty(), overrides.ok());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 3000);
}

TEST(ConfigToml, AlteredFilesGiveErrorsOrSoundValues) {
  const std::string good =
      "env_id = \"CartPole-v1\"\nseed = 7\nnum_envs = 8\ngamma = 0.98\nclip_vloss = true\n"
      "hidden_sizes = [32, 16]\n[env]\ngravity = 9.0\n";
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text = good;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t place = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[place] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(place, 1 + random() % 8);
          break;
        case 2:
          text.insert(place, text.substr(random() % text.size(), random() % 12));
          break;
        default:
          text.resize(place);
      }
    }
    const Result<Overrides> overrides = parse_toml_overrides(text, "fuzz");
    if (!overrides.ok()) {
      ASSERT_EQ(overrides.status().message().rfind("fuzz:", 0), 0u) << overrides.status().message();
      continue;
    }
    const Result<Config> config = resolve_config(overrides.value());
    ASSERT_EQ(config.ok(), config.status().message().empty());
    if (config.ok()) {
      ASSERT_TRUE(validate(config.value()).ok()) << text;
    }
  }
}

}  // namespace
}  // namespace broadloom
