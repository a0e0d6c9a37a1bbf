// Advice as a config file for `train`.
#include "research/advise/advice_config.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "research/advise/portfolio.h"
#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

// Keys that the file leaves out have no effect.
Overrides acting(const Config& config) { return to_overrides(without_idle_values(config)); }

TEST(AdviceToml, GivesTheConfigBack) {
  const Overrides given{{"env_id", "FrozenLake-v1"},
                        {"env.map_name", "8x8"},
                        {"env.is_slippery", "false"},
                        {"hidden_sizes", "32,16"},
                        {"norm_obs", "true"},
                        {"instruments", "gradient,policy"},
                        {"gamma", "0.98"}};
  AdviceEvidence evidence = planted_race();
  const Advice advice = advice_of(evidence);
  const Config base = resolve_config(given).take();
  const Config config = advised_config(base, given, evidence, advice);
  EXPECT_EQ(candidate_of(config), kWide);
  EXPECT_EQ(config.total_timesteps, 4096) << "twice 2,000 in blocks of 1,024";
  const std::string text = advice_toml(config, advice);
  EXPECT_EQ(text.rfind("# Train Planted-v0", 0), 0U) << text;
  const Result<Overrides> read = parse_toml_overrides(text, "advice.toml");
  ASSERT_TRUE(read.ok()) << read.status().message() << text;
  const Result<Config> back = resolve_config(read.value());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(acting(back.value()), acting(config)) << text;
}

// Each sets a key to PPO's default for vector observations, which differs from the run's own.
TEST(AdviceToml, GivesBackNonDefaultKeys) {
  const AdviceEvidence evidence = planted_race();
  const Advice advice = advice_of(evidence);
  for (const Overrides& given :
       {Overrides{{"env_id", "Pendulum-v1"}, {"norm_obs", "false"}, {"ent_coef", "0.01"}},
        Overrides{{"algorithm", "ppo_rnd"}, {"norm_obs", "false"}},
        Overrides{{"algorithm", "ppo_rnd"}},
        Overrides{{"stagger_starts", "true"}, {"stagger_by", "age"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"num_minibatches", "7"}},
        Overrides{{"lr_schedule", "adaptive"}, {"desired_kl", "0.02"}},
        Overrides{{"algorithm", "pqn"}, {"layer_norm", "off"}, {"hidden_sizes", "64,64"}},
        Overrides{{"env_id", "MinAtar/Breakout-v1"},
                  {"encoder", "minatar"},
                  {"hidden_sizes", "64,64"},
                  {"activation", "tanh"}},
        Overrides{{"env_id", "MinAtar/Breakout-v1"}, {"encoder", "minatar"}},
        Overrides{{"env_id", "MinAtar/Breakout-v1"}, {"algorithm", "pqn"}, {"encoder", "mlp"}},
        Overrides{{"dialect", "sb3"}, {"clip_vloss", "true"}, {"ent_coef", "0.01"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"dialect", "rl_games"}, {"norm_obs", "false"}}}) {
    const Result<Config> base = resolve_config(given);
    ASSERT_TRUE(base.ok()) << base.status().message();
    const Config config = advised_config(base.value(), given, evidence, advice);
    const std::string text = advice_toml(config, advice);
    const Result<Overrides> read = parse_toml_overrides(text, "advice.toml");
    ASSERT_TRUE(read.ok()) << read.status().message() << text;
    const Result<Config> back = resolve_config(read.value());
    ASSERT_TRUE(back.ok()) << back.status().message() << text;
    EXPECT_EQ(acting(back.value()), acting(config)) << text;
  }
}

TEST(AdviceToml, GivesStrataAndDisturbancesBack) {
  const Overrides given{{"env_id", "CartPole-v1"},
                        {"strata.light.gravity", "5.0..9.0"},
                        {"strata.heavy.gravity", "10.0..12.0"},
                        {"disturb.obs_noise", "0.1"}};
  const AdviceEvidence evidence = planted_race();
  const Advice advice = advice_of(evidence);
  const Result<Config> base = resolve_config(given);
  ASSERT_TRUE(base.ok()) << base.status().message();
  const Config config = advised_config(base.value(), given, evidence, advice);
  const std::string text = advice_toml(config, advice);
  const Result<Overrides> read = parse_toml_overrides(text, "advice.toml");
  ASSERT_TRUE(read.ok()) << read.status().message() << text;
  const Config back = resolve_config(read.value()).take();
  EXPECT_EQ(back.env_options.size(), config.env_options.size()) << text;
  for (const auto& option : config.env_options) {
    EXPECT_NE(std::find(back.env_options.begin(), back.env_options.end(), option),
              back.env_options.end())
        << option.first << " " << option.second << "\n"
        << text;
  }
}

TEST(AdviceToml, LengthFollowsTheEvidenceOrTheRequest) {
  AdviceEvidence evidence = planted_race();
  const Config base = resolve_config({{"env_id", "CartPole-v1"}}).take();
  const Overrides set{{"total_timesteps", "777"}};
  const Config asked = resolve_config(set).take();
  EXPECT_EQ(advised_config(asked, set, evidence, advice_of(evidence)).total_timesteps, 777);
  evidence.threshold = 500.0;
  EXPECT_EQ(advised_config(base, {}, evidence, advice_of(evidence)).total_timesteps, 500736)
      << "the task's own length, in whole blocks";
  evidence.goal = AdviceGoal::kReturn;
  EXPECT_EQ(advised_config(base, {}, evidence, advice_of(evidence)).total_timesteps, 5120);
}

}  // namespace
}  // namespace broadloom
