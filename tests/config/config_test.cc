#include "broadloom/config/config.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <random>

#include "broadloom/env/strata.h"
#include "broadloom/rollout/minibatches.h"

namespace broadloom {
namespace {

EnvSpec discrete_spec() {
  EnvSpec spec;
  spec.id = "CartPole-v1";
  spec.action = Space::discrete(2);
  return spec;
}

EnvSpec box_spec() {
  EnvSpec spec;
  spec.id = "Pendulum-v1";
  spec.action = Space::box({-2.0F}, {2.0F});
  return spec;
}

std::string message_of(const Status& status) {
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  return status.message();
}

TEST(ConfigDefaults, DiscreteActionsTakePpo) {
  const Config config = default_config(discrete_spec());
  EXPECT_EQ(config.env_id, "CartPole-v1");
  EXPECT_EQ(config.total_timesteps, 500000);
  EXPECT_EQ(config.learning_rate, 2.5e-4);
  EXPECT_EQ(config.batch_size(), 512);
  EXPECT_EQ(config.minibatch_count(), 4);
  EXPECT_EQ(config.update_epochs, 4);
  EXPECT_EQ(config.ent_coef, 0.01);
  EXPECT_FALSE(config.norm_obs || config.norm_reward);
  EXPECT_EQ(config.num_iterations(), 976);
  EXPECT_EQ(config.truncation_mode, "bootstrap");
  EXPECT_TRUE(validate(config).ok());
}

TEST(ConfigDefaults, BoxActionsTakePpoContinuousAction) {
  const Config config = default_config(box_spec());
  EXPECT_EQ(config.env_id, "Pendulum-v1");
  EXPECT_EQ(config.total_timesteps, 1000000);
  EXPECT_EQ(config.learning_rate, 3e-4);
  EXPECT_EQ(config.num_envs, 1);
  EXPECT_EQ(config.num_steps, 2048);
  EXPECT_EQ(config.num_minibatches, 32);
  EXPECT_EQ(config.update_epochs, 10);
  EXPECT_EQ(config.ent_coef, 0.0);
  EXPECT_TRUE(config.norm_obs && config.norm_reward);
  EXPECT_TRUE(validate(config).ok());
}

TEST(ConfigDerived, MinibatchSizeDecidesWhenSet) {
  Config config;
  config.minibatch_size = 100;
  EXPECT_EQ(config.minibatch_count(), 6);  // 512 samples
  config.minibatch_size = 128;
  EXPECT_EQ(config.minibatch_count(), 4);
  config.minibatch_size = 512;
  EXPECT_EQ(config.minibatch_count(), 1);
}

// Plans and reports have the minibatches of the update.
TEST(ConfigDerived, MinibatchesAreTheFewestThatExceedNoSize) {
  Config config;
  config.num_steps = 1;
  for (const int batch_size : {1, 5, 64, 1000}) {
    config.num_envs = batch_size;
    for (const int size : {1, 3, 64, 999, 5000}) {
      config.minibatch_size = size;
      const int count = static_cast<int>(config.minibatch_count());
      EXPECT_LE(config.largest_minibatch(), size);
      EXPECT_EQ(config.largest_minibatch(), Minibatches(batch_size, count).max_size());
      if (count > 1) {
        EXPECT_GT(Minibatches(batch_size, count - 1).max_size(), size);
      }
    }
  }
}

TEST(ConfigKeys, CleanRlSpellingsAreUnderstood) {
  Config config;
  ASSERT_TRUE(set_config(config, "anneal_lr", "false").ok());
  EXPECT_EQ(config.lr_schedule, "constant");
  ASSERT_TRUE(set_config(config, "anneal_lr", "true").ok());
  EXPECT_EQ(config.lr_schedule, "linear");
  ASSERT_TRUE(set_config(config, "norm_adv", "false").ok());
  EXPECT_EQ(config.norm_adv, "off");
  ASSERT_TRUE(set_config(config, "norm_adv", "true").ok());
  EXPECT_EQ(config.norm_adv, "minibatch");
  ASSERT_TRUE(set_config(config, "norm_adv", "batch").ok());
  EXPECT_EQ(config.norm_adv, "batch");
}

TEST(ConfigKeys, AgesAndACurriculumDoNotGoTogether) {
  Config config;
  config.stagger_starts = true;
  config.stagger_by = "age";
  EXPECT_TRUE(validate(config).ok());
  config.curriculum = {"a"};
  EXPECT_NE(message_of(validate(config)).find("stagger_by: got age with a curriculum"),
            std::string::npos);
  config.stagger_by = "actions";
  EXPECT_TRUE(validate(config).ok());
}

// The last value counts: a flag replaces a file's value.
TEST(ConfigKeys, AgesThatALaterFlagTakesBackAreTaken) {
  EXPECT_TRUE(resolve_config({{"stagger_by", "age"}, {"stagger_by", "actions"}}).ok());
}

// A curriculum counts successes, and a record keeps what its program did.
TEST(ConfigKeys, StartsGoByAgeWhereThereIsATimeLimit) {
  const auto way = [](Overrides keys) {
    keys.emplace_back("stagger_starts", "true");
    const Result<Config> config = resolve_config(keys);
    return config.ok() ? config.value().stagger_by : config.status().message();
  };
  EXPECT_EQ(way({}), "age");
  EXPECT_EQ(way({{"stagger_by", "actions"}}), "actions");
  EXPECT_EQ(way({{"env_id", "MinAtar/Breakout-v1"}}), "actions");
  EXPECT_EQ(way({{"env_id", "MinAtar/Breakout-v1"}, {"max_episode_steps", "500"}}), "age");
  EXPECT_EQ(way({{"strata.easy.half_length", "0.4..0.5"},
                 {"strata.hard.half_length", "0.5..0.6"},
                 {"curriculum", "easy,hard"}}),
            "actions");
  EXPECT_EQ(resolve_config({}).value().stagger_by, "actions");
  EXPECT_EQ(resolve_record({{"stagger_starts", "true"}}).value().stagger_by, "actions");
}

TEST(ConfigKeys, AgesNeedATimeLimit) {
  const Overrides endless{
      {"env_id", "MinAtar/Breakout-v0"}, {"stagger_starts", "true"}, {"stagger_by", "age"}};
  EXPECT_EQ(message_of(resolve_config(endless).status()),
            "stagger_by = age: MinAtar/Breakout-v0 has no time limit; set max_episode_steps, or "
            "stagger_by = actions");
  Overrides limited = endless;
  limited.emplace_back("max_episode_steps", "500");
  EXPECT_TRUE(resolve_config(limited).ok());
  Overrides off = endless;
  off.emplace_back("stagger_starts", "false");
  EXPECT_TRUE(resolve_record(off).ok());
}

// Rates stay within 1e-5 and 1e-2, and a block's first step has a KL of 0.
TEST(ConfigKeys, AnAdaptiveRateThatCouldNotMoveIsRefused) {
  const auto refusal = [](const Overrides& more) {
    Overrides given{{"lr_schedule", "adaptive"}};
    given.insert(given.end(), more.begin(), more.end());
    EXPECT_TRUE(resolve_record(given).ok());  // such runs are there
    const Status status = resolve_config(given).status();
    return status.ok() ? std::string() : status.message();
  };
  EXPECT_EQ(refusal({}), "");
  for (const char* rate : {"1e-5", "1e-2"}) EXPECT_EQ(refusal({{"learning_rate", rate}}), "");
  for (const char* rate : {"2e-06", "0.05"}) {
    EXPECT_EQ(refusal({{"learning_rate", rate}})
                  .find("learning_rate: got " + std::string(rate) +
                        ", expected 1e-05 to 0.01 with lr_schedule"),
              0U)
        << refusal({{"learning_rate", rate}});
  }
  const std::string once = "lr_schedule: got adaptive with one gradient step a block";
  EXPECT_EQ(refusal({{"update_epochs", "1"}, {"num_minibatches", "1"}}).find(once), 0U);
  EXPECT_EQ(refusal({{"update_epochs", "1"}, {"minibatch_size", "512"}}).find(once), 0U);
  EXPECT_EQ(refusal({{"update_epochs", "1"}, {"num_minibatches", "2"}}), "");
  EXPECT_EQ(refusal({{"update_epochs", "2"}, {"num_minibatches", "1"}}), "");
  EXPECT_EQ(refusal({{"update_epochs", "1"}, {"shape_schedule", "8x64/256 @ 0, 4x64/256 @ 0.5"}})
                .find(once),
            0U);
}

TEST(ConfigKeys, UnknownKeysNameTheNearest) {
  Config config;
  EXPECT_EQ(message_of(set_config(config, "lerning_rate", "1")),
            "unknown key 'lerning_rate'; did you mean 'learning_rate'?");
  EXPECT_EQ(message_of(set_config(config, "num_env", "1")),
            "unknown key 'num_env'; did you mean 'num_envs'?");
  EXPECT_FALSE(set_config(config, "env.", "1").ok());
}

TEST(ConfigKeys, InstrumentsAreAListOfKnownNames) {
  Config config;
  EXPECT_TRUE(config.instruments.empty());
  std::string names;
  for (const std::string& name : instrument_names()) names += (names.empty() ? "" : " | ") + name;
  ASSERT_TRUE(set_config(config, "instruments", "gradient").ok());
  EXPECT_EQ(config.instruments, std::vector<std::string>{"gradient"});
  EXPECT_TRUE(validate(config).ok());
  EXPECT_EQ(message_of(set_config(config, "instruments", "gradients")),
            "instruments: got 'gradients', expected " + names + "; did you mean 'gradient'?");
  EXPECT_EQ(message_of(set_config(config, "instruments", "gradient,rank")),
            "instruments: got 'rank', expected " + names);
  EXPECT_EQ(message_of(set_config(config, "instruments", "gradient, gradient")),
            "instruments: got 'gradient' twice, expected it once");
  EXPECT_EQ(config.instruments.size(), 1u);  // errors leave it alone
  config.instruments = {"rank"};
  EXPECT_EQ(message_of(validate(config)), "instruments: got 'rank', expected " + names);
  ASSERT_TRUE(set_config(config, "instruments", "").ok());
  EXPECT_TRUE(config.instruments.empty());
  EXPECT_FALSE(set_config(config, "instrument_every", "0").ok());
}

TEST(ConfigKeys, LaterEnvOptionsReplaceEarlierOnes) {
  Config config;
  ASSERT_TRUE(set_config(config, "env.is_slippery", "true").ok());
  ASSERT_TRUE(set_config(config, "env.map_name", "8x8").ok());
  ASSERT_TRUE(set_config(config, "env.is_slippery", "false").ok());
  EXPECT_EQ(config.env_options, (Overrides{{"is_slippery", "false"}, {"map_name", "8x8"}}));
}

struct Rule {
  const char* key;
  const char* text;
  const char* fact;
};

TEST(ConfigValidate, SaysGotExpectedAndWhatToChange) {
  const Rule rules[] = {
      {"total_timesteps", "511", "less than one rollout block (num_envs * num_steps = 4 * 128"},
      {"minibatch_size", "513", "expected at most the block"},
      {"num_minibatches", "513", "expected at most the block"},
      {"num_minibatches", "300", "needs at least 2 samples"},
      {"hidden_sizes", "", "got 0 layers"},
      {"hidden_sizes", "64,0", "got a layer of 0"},
      {"num_envs", "1048576", "less than one rollout block"},
  };
  for (const Rule& rule : rules) {
    Config config;
    ASSERT_TRUE(set_config(config, rule.key, rule.text).ok()) << rule.key;
    const std::string message = message_of(validate(config));
    EXPECT_NE(message.find(rule.fact), std::string::npos) << message;
  }
}

TEST(ConfigValidate, Bf16IsNoPrecision) {
  const Status status = resolve_config({{"precision", "bf16"}}).status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("precision: got 'bf16', expected fp32 | tf32"), std::string::npos)
      << status.message();
}

TEST(ConfigValidate, Tf32WantsAGpu) {
  Config config;
  config.precision = "tf32";
  config.hidden_sizes = {8};
  config.isa = "exact";
  const Status status = validate(config);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(status.message(),
            "precision: got 'tf32' with device 'cpu', expected device 'cuda'; only a GPU rounds to "
            "TF32. Use device=cuda, or precision=fp32");
  config.device = "cuda";
  EXPECT_TRUE(validate(config).ok());
  // Checked after all overrides, not while device has its default.
  EXPECT_TRUE(resolve_config({{"precision", "tf32"}, {"device", "cuda"}}).ok());
  EXPECT_FALSE(resolve_config({{"precision", "tf32"}}).ok());
}

TEST(ConfigValidate, BlocksBeyondTheIndexRangeAreRefused) {
  Config config;
  config.num_envs = config.num_steps = 1 << 20;
  config.total_timesteps = std::int64_t{1} << 50;
  EXPECT_NE(message_of(validate(config)).find("too large"), std::string::npos);
  config.num_envs = 65535;
  config.num_steps = 32767;  // close below 2^31
  EXPECT_NE(message_of(validate(config)).find("expected at most 2146435072"), std::string::npos);
  config.num_envs = 1 << 20;
  config.num_steps = 2047;
  EXPECT_TRUE(validate(config).ok());
}

TEST(ConfigValidate, SingleSamplesAreFineWhenNothingIsNormalised) {
  Config config;
  config.num_envs = config.num_steps = config.num_minibatches = 1;
  config.norm_adv = "off";
  EXPECT_TRUE(validate(config).ok());
  config.norm_adv = "batch";
  EXPECT_FALSE(validate(config).ok());
}

TEST(ConfigValidate, ValuesWrittenInCodeAreCheckedToo) {
  Config config;
  config.num_envs = 0;
  EXPECT_EQ(message_of(validate(config)), "num_envs: got 0, expected 1 to 1048576");
}

TEST(ConfigOverrides, ComeBackBitForBit) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int trial = 0; trial < 200; ++trial) {
    Config config = default_config(trial % 2 == 0 ? discrete_spec() : box_spec());
    config.seed = random();
    config.learning_rate = unit(random);
    config.gamma = unit(random);
    config.ent_coef = unit(random) * 1e-7;
    config.log_std_init = -unit(random) / 3.0;
    config.hidden_sizes = {1 + trial, 7};
    config.clip_vloss = trial % 3 == 0;
    config.env_options = {{"map_name", "8x8"}, {"desc", "SF,FG"}};
    Config back;
    for (const auto& [key, text] : to_overrides(config)) {
      ASSERT_TRUE(set_config(back, key, text).ok()) << key << " = " << text;
    }
    EXPECT_EQ(to_overrides(back), to_overrides(config));
    EXPECT_EQ(back.seed, config.seed);
    EXPECT_EQ(back.learning_rate, config.learning_rate);
    EXPECT_EQ(back.ent_coef, config.ent_coef);
    EXPECT_EQ(back.log_std_init, config.log_std_init);
    EXPECT_EQ(back.env_options, config.env_options);
  }
}

TEST(ConfigResolve, EnvironmentDecidesDefaultsThenLaterOverridesWin) {
  const Result<Config> config = resolve_config({{"num_envs", "8"},
                                                {"env_id", "NoSuchEnv"},
                                                {"gamma", "0.9"},
                                                {"env_id", "CartPole-v1"},
                                                {"env.gravity", "5"},
                                                {"num_envs", "16"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config.value().env_id, "CartPole-v1");
  EXPECT_EQ(config.value().num_envs, 16);
  EXPECT_EQ(config.value().gamma, 0.9);
  EXPECT_EQ(config.value().num_steps, 128);
  EXPECT_EQ(config.value().env_options, (Overrides{{"gravity", "5"}}));
  const Result<Config> again = resolve_config(to_overrides(config.value()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_overrides(again.value()), to_overrides(config.value()));
}

TEST(ConfigResolve, RefusesWhatDoesNotExist) {
  const Status unknown = resolve_config({{"env_id", "CartPol-v1"}}).status();
  EXPECT_EQ(unknown.kind(), ErrorKind::kNotFound);
  EXPECT_NE(unknown.message().find("'CartPole-v1'"), std::string::npos);
  EXPECT_NE(message_of(resolve_config({{"env.gravty", "5"}}).status()).find("'gravity'"),
            std::string::npos);
  EXPECT_NE(message_of(resolve_config({{"env.gravity", "low"}}).status()).find("'low'"),
            std::string::npos);
  EXPECT_FALSE(resolve_config({{"num_envs", "0"}}).ok());
  EXPECT_FALSE(resolve_config({{"total_timesteps", "10"}}).ok());
}

// A range has one text; other forms in runs and files are accepted.
TEST(ConfigResolve, RangesOfStrataHaveOneText) {
  const auto text = [](const std::string& given) {
    return to_overrides(resolve_config({{"strata.a.force", given}}).value()).back().second;
  };
  for (const char* same : {"0.8..1.2", "0.8,1.2", "[0.8, 1.2]", "0.80..1.200", "8e-1,12e-1"}) {
    EXPECT_EQ(text(same), "0.8..1.2") << same;
  }
  for (const char* same : {"5", "5.0", "5..5", "5,5.0"}) EXPECT_EQ(text(same), "5") << same;
  EXPECT_EQ(plain_strata_text("2..1"), "2..1");
  EXPECT_EQ(plain_strata_text("wide"), "wide");
  EXPECT_EQ(plain_strata_text("1,2,3"), "1,2,3");
}

TEST(ConfigResolve, CurriculaAreChecked) {
  const auto refusal_of = [](const Overrides& more) {
    Overrides all{{"strata.easy.force", "9..11"}, {"strata.hard.force", "1..2"}};
    all.insert(all.end(), more.begin(), more.end());
    const Result<Config> config = resolve_config(all);
    EXPECT_FALSE(config.ok());
    return config.ok() ? std::string() : config.status().message();
  };
  EXPECT_NE(refusal_of({{"curriculum", "easy,hart"}}).find("did you mean 'hard'?"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"curriculum", "easy,hard"}, {"strata_sampling", "stratified"}})
                .find("strata_sampling: got 'stratified' with a curriculum"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"curriculum_up", "1.5"}}).find("curriculum_up: got 1.5, expected 0 to 1"),
            std::string::npos);
  EXPECT_NE(
      refusal_of({{"curriculum", "easy,hard"}, {"curriculum_up", "0.3"}}).find("got 0.4 and 0.3"),
      std::string::npos);
  EXPECT_EQ(resolve_config({{"curriculum", "a,b"}}).status().kind(), ErrorKind::kInvalidConfig);
  const Result<Overrides> file = parse_toml_overrides(
      "curriculum = [\"a\", \"b\"]\n[strata.a]\nforce = [9, 11]\n[strata.b]\nforce = 3\n",
      "run.toml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<Config> config = resolve_config(file.value());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config.value().curriculum, (std::vector<std::string>{"a", "b"}));
}

TEST(ConfigResolve, StrataAndFamiliesAreChecked) {
  const auto refusal_of = [](const Overrides& overrides) {
    const Result<Config> config = resolve_config(overrides);
    EXPECT_FALSE(config.ok());
    EXPECT_EQ(config.status().kind(), ErrorKind::kInvalidConfig);
    return config.status().message();
  };
  EXPECT_NE(refusal_of({{"num_envs", "8"}, {"seed_families", "3"}})
                .find("seed_families: got 3, expected a divisor of num_envs (8)"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"strata.a.forze", "1..2"}}).find("did you mean 'force'?"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"strata.a", "1..2"}}).find("expected strata.<name>.<constant>"),
            std::string::npos);
  EXPECT_NE(refusal_of({{"strata_sampling", "random"}}).find("sampled"), std::string::npos);
  EXPECT_TRUE(resolve_config({{"num_envs", "8"}, {"seed_families", "8"}}).ok());
}

// Changes, removes or repeats bytes of a good file: every result is an error or a valid config.
}  // namespace
}  // namespace broadloom
