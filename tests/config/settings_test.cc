// Every value of a setting has its own effect.
#include "broadloom/setup/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/algorithms/entries.h"
#include "broadloom/setup/network_shape.h"
#include "tests/learn/a2c.h"

namespace broadloom {
namespace {

template <class Meaning>
using Words = std::vector<std::pair<std::string, Meaning>>;

// words: all values of the key, in the order of its table. meaning_of(config): the resulting
// setting.
template <class Meaning, class F>
void expect_words(const std::string& key, const Words<Meaning>& words, F&& meaning_of) {
  std::string names;
  for (const auto& [name, meaning] : words) {
    names += (names.empty() ? "" : " | ") + name;
    Config config;
    const Status status = set_config(config, key, name);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(meaning_of(config), meaning) << key << " = " << name;
  }
  bool found = false;
  for (const FieldInfo& field : list_fields(Config())) {
    if (field.name != key) continue;
    found = true;
    EXPECT_EQ(field.range_text, names) << "words of " << key << " that this test does not know";
  }
  EXPECT_TRUE(found) << key;
}

TEST(Settings, EveryWordOfNormAdvIsItsNormalisation) {
  expect_words<AdvantageNorm>("norm_adv",
                              {{"minibatch", AdvantageNorm::kMinibatch},
                               {"batch", AdvantageNorm::kBatch},
                               {"running", AdvantageNorm::kRunning},
                               {"off", AdvantageNorm::kOff}},
                              [](const Config& config) { return ppo_settings(config).norm_adv; });
  EXPECT_EQ(ppo_settings(Config()).norm_adv, AdvantageNorm::kMinibatch);
}

TEST(Settings, EveryWordOfLrScheduleIsAdaptiveOrNot) {
  expect_words<bool>("lr_schedule", {{"linear", false}, {"constant", false}, {"adaptive", true}},
                     [](const Config& config) { return ppo_settings(config).adaptive_lr; });
}

TEST(Settings, EveryWordOfOtherLibrariesChoicesIsItsSetting) {
  expect_words<Shuffle>(
      "shuffle", {{"epoch", Shuffle::kEpoch}, {"block", Shuffle::kBlock}, {"off", Shuffle::kOff}},
      [](const Config& config) { return ppo_settings(config).shuffle; });
  expect_words<bool>("clip_grads", {{"together", false}, {"apart", true}},
                     [](const Config& config) { return ppo_settings(config).clips_sides_apart; });
  expect_words<bool>(
      "clip_vloss_rule", {{"larger", false}, {"clipped", true}},
      [](const Config& config) { return ppo_settings(config).loss.clips_value_alone; });
  expect_words<bool>("norm_value", {{"off", false}, {"running", true}, {"popart", true}},
                     [](const Config& config) { return value_normalizer(config).has_value(); });
  expect_words<bool>("adapt_every", {{"minibatch", false}, {"epoch", true}},
                     [](const Config& config) { return ppo_settings(config).adapts_each_epoch; });
  expect_words<bool>("kl_estimate", {{"samples", false}, {"analytic", true}}, [](Config config) {
    config.lr_schedule = "adaptive";
    return ppo_settings(config).loss.analytic_kl;
  });
  expect_words<bool>("obs_eps_in", {{"variance", false}, {"deviation", true}},
                     [](const Config& config) { return normaliser_eps(config).is_of_deviation; });
}

TEST(Settings, EveryWordOfTruncationModeIsItsMode) {
  expect_words<TruncationMode>("truncation_mode",
                               {{"bootstrap", TruncationMode::kBootstrap},
                                {"as_termination", TruncationMode::kAsTermination},
                                {"state_value", TruncationMode::kStateValue},
                                {"zero", TruncationMode::kZero}},
                               truncation_mode);
}

TEST(Settings, EveryWordOfGaeWeightsIsItsWeights) {
  const auto expect = [](auto weights_of) {
    expect_words<GaeWeights>(
        "gae_weights",
        {{"geometric", GaeWeights::kGeometric}, {"normalised", GaeWeights::kNormalised}},
        weights_of);
  };
  expect(gae_weights);
  expect([](const Config& config) { return ppo_settings(config).gae_weights; });
}

TEST(Settings, EveryWordOfNormaliserIsItsRule) {
  expect_words<NormaliserRule>(
      "normaliser", {{"exact", NormaliserRule::kExact}, {"gymnasium", NormaliserRule::kGymnasium}},
      normaliser_rule);
}

TEST(Settings, EveryWordOfStrataSamplingIsItsSampling) {
  expect_words<StrataSampling>(
      "strata_sampling",
      {{"sampled", StrataSampling::kSampled}, {"stratified", StrataSampling::kStratified}},
      [](const Config& config) { return strata_sampling(config.strata_sampling); });
}

TEST(Settings, EveryWordOfActivationIsItsFunction) {
  const Result<EnvSpec> spec = env_spec("CartPole-v1", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  expect_words<Activation>(
      "activation",
      {{"tanh", Activation::kTanh}, {"relu", Activation::kRelu}, {"elu", Activation::kElu}},
      [&](const Config& config) { return network_shape(config, spec.value()).activation; });
}

TEST(Settings, EveryWordOfPrecisionIsTheAgentsAlone) {
  const Result<EnvSpec> spec = env_spec("CartPole-v1", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  expect_words<Precision>("precision", {{"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}},
                          [&](const Config& config) {
                            EXPECT_EQ(rnd_shape(config, spec.value()).precision, Precision::kFp32)
                                << config.precision;
                            return network_shape(config, spec.value()).precision;
                          });
}

// All numbers differ, so that a swap is found.
TEST(Settings, NumbersOfTheUpdateAreTheConfigs) {
  Config config;
  config.clip_coef = 0.11;
  config.clip_vloss = false;
  config.ent_coef = 0.12;
  config.vf_coef = 0.13;
  config.update_epochs = 14;
  config.max_grad_norm = 0.15;
  config.target_kl = 0.16;
  config.adam_eps = 0.17;
  config.desired_kl = 0.18;
  config.adam_beta1 = 0.19;
  config.adam_beta2 = 0.2;
  config.norm_adv_decay = 0.21;
  config.proximal_decay = 0.22;
  config.sapg_policies = 3;
  config.sapg_followers = 2;
  config.sapg_entropy_scale = 0.46;
  config.gamma = 0.24;
  const PpoSettings settings = ppo_settings(config);
  EXPECT_EQ(settings.loss.clip_coef, 0.11);
  EXPECT_FALSE(settings.loss.clip_vloss);
  EXPECT_EQ(settings.loss.ent_coef, 0.12);
  EXPECT_EQ(settings.loss.vf_coef, 0.13);
  EXPECT_EQ(settings.update_epochs, 14);
  EXPECT_EQ(settings.max_grad_norm, 0.15);
  EXPECT_EQ(settings.target_kl, 0.16);
  EXPECT_EQ(settings.adam_eps, 0.17);
  EXPECT_EQ(settings.desired_kl, 0.18);
  EXPECT_EQ(settings.adam_betas.first, 0.19);
  EXPECT_EQ(settings.adam_betas.second, 0.2);
  EXPECT_EQ(settings.norm_adv_decay, 0.21);
  EXPECT_EQ(settings.proximal_decay, 0.22);
  EXPECT_EQ(settings.loss.follower_entropy, 0.23);
  EXPECT_EQ(settings.relabel.followers, 2);
  EXPECT_EQ(settings.relabel.gamma, 0.24);
  EXPECT_FALSE(settings.relabel.clips_by_paper);
  config.sapg_clip = "paper";
  EXPECT_TRUE(ppo_settings(config).relabel.clips_by_paper);
}

// Each policy has 4 of 12 environments.
TEST(Settings, MinibatchesHoldTheSamplesOfFollowersTwice) {
  Config config;
  config.num_envs = 12;
  config.num_steps = 5;
  config.num_minibatches = 7;
  EXPECT_EQ(config.learnt_samples(), 60);
  config.sapg_policies = 3;
  EXPECT_EQ(config.learnt_samples(), 80);
  EXPECT_EQ(config.largest_minibatch(), 12);
  config.sapg_followers = 2;
  config.minibatch_size = 33;
  EXPECT_EQ(config.learnt_samples(), 100);
  EXPECT_EQ(config.minibatch_count(), 4);
  EXPECT_EQ(config.largest_minibatch(), 25);
}

// Whoever learns in order of time has its minibatches from gradient_length.
TEST(Settings, MinibatchesFollowTheAlgorithmsOrder) {
  for (const auto& make_entry : kEntries) {
    const AlgorithmEntry entry = make_entry();
    EXPECT_EQ(entry.learns_in_order, learns_in_order(entry.name)) << entry.name;
  }
  AlgorithmEntry own = A2c::entry();
  own.name = "in_order";
  own.learns_in_order = true;
  ASSERT_TRUE(register_algorithm(own).ok());
  Config config;
  config.algorithm = "in_order";
  config.num_steps = 60;
  config.gradient_length = 12;
  config.num_minibatches = 7;
  EXPECT_EQ(config.minibatch_count(), 5);
  EXPECT_EQ(config.sequence_steps(), 12);
  config.algorithm = "ppo";
  EXPECT_EQ(config.minibatch_count(), 7);
}

// With memory and without, and without advice that would be refused.
TEST(Settings, GradientLengthsDivideTheBlock) {
  Config config;
  config.algorithm = "distill";
  config.num_steps = 120;
  config.gradient_length = 7;
  for (const char* cell : {"none", "gru"}) {
    config.recurrent = cell;
    EXPECT_EQ(validate(config).message(),
              "gradient_length: got 7, which does not divide num_steps = 120; expected a divisor, "
              "such as 6, or 120 for whole environments");
  }
  config.gradient_length = 240;
  EXPECT_NE(validate(config).message().find("a divisor, such as 120"), std::string::npos);
  config.gradient_length = 120;
  EXPECT_EQ(validate(config).message(), "");
}

TEST(Settings, SapgThatDoesNotFitIsRefused) {
  struct Wrong {
    const char* words;
    void (*set)(Config& config);
  };
  const Wrong all[] = {
      {"got 3 with 8 environments", [](Config& c) { c.sapg_policies = 3; }},
      {"got 16 with 8 environments", [](Config& c) { c.sapg_policies = 16; }},
      {"got 4 with sapg_policies = 4", [](Config& c) { c.sapg_followers = 4; }},
      {"mirror_coef = 0.5", [](Config& c) { c.mirror_coef = 0.5; }},
      {"std_form = scalar", [](Config& c) { c.std_form = "scalar"; }},
      {"std_form = sde", [](Config& c) { c.std_form = "sde"; }},
      {"'gradient'", [](Config& c) { c.instruments = {"gradient"}; }},
      {"'policy'",
       [](Config& c) {
         c.instruments = {"plasticity", "policy"};
       }},
      {"'audit'", [](Config& c) { c.instruments = {"audit"}; }},
  };
  const Result<EnvSpec> spec = env_spec("Pendulum-v1", {});
  ASSERT_TRUE(spec.ok());
  Config fits;
  fits.env_id = "Pendulum-v1";
  fits.num_envs = 8;
  fits.sapg_policies = 4;
  fits.instruments = {"plasticity", "coverage"};
  const Status accepted = check_algorithm(fits, spec.value());
  EXPECT_TRUE(accepted.ok()) << accepted.message();
  for (const Wrong& wrong : all) {
    Config config = fits;
    wrong.set(config);
    const Status refused = check_algorithm(config, spec.value());
    EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig) << wrong.words;
    EXPECT_NE(refused.message().find(wrong.words), std::string::npos) << refused.message();
  }
}

}  // namespace
}  // namespace broadloom
