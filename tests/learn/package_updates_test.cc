// Compares three updates in turn with those of RSL-RL, Stable-Baselines3 and rl_games, which
// make_package_updates.py recorded.
// sanitizers: none
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "tests/learn/recorded.h"

namespace broadloom::package_updates {
namespace {

constexpr int kSteps = 16, kEnvs = 8, kWidth = 16, kUpdates = 3;

NetworkShape shape_of(const nlohmann::json& recorded) {
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2;
  shape.hidden_sizes = {kWidth, kWidth};
  if (!recorded.contains("std_form")) return shape;
  shape.std_form = recorded.at("std_form") == "scalar" ? StdForm::kScalar : StdForm::kLog;
  shape.std_min = recorded.at("std_range")[0];
  shape.std_max = recorded.at("std_range")[1];
  return shape;
}

PpoSettings settings_of(const nlohmann::json& recorded) {
  PpoSettings settings;
  settings.loss.ent_coef = recorded.at("ent_coef");
  settings.update_epochs = recorded.at("update_epochs");
  settings.max_grad_norm = recorded.at("max_grad_norm");
  if (recorded.contains("scale")) {
    settings.loss.vf_coef = recorded.at("vf_coef");
    settings.loss.clip_vloss = recorded.at("clip_value");
    settings.loss.bounds_coef = recorded.at("bounds_coef");
    settings.norm_adv = AdvantageNorm::kBatch;
    settings.adam_eps = recorded.at("adam_eps");
    return settings;
  }
  if (recorded.contains("std_form")) {
    settings.loss.vf_coef = 2.0;
    settings.loss.analytic_kl = true;
    settings.norm_adv = AdvantageNorm::kBatch;
    settings.adam_eps = 1e-8;
    settings.adaptive_lr = true;
    settings.desired_kl = recorded.at("desired_kl");
    settings.shuffle = Shuffle::kBlock;
    settings.clips_sides_apart = true;
    settings.loss.mirror_samples = recorded.value("mirror_samples", false);
    settings.loss.mirror_coef = recorded.value("mirror_coef", 0.0);
    return settings;
  }
  settings.loss.vf_coef = 1.0;
  settings.loss.clip_vloss = !recorded.at("clip_range_vf").is_null();
  if (settings.loss.clip_vloss) settings.loss.clip_vloss_coef = recorded.at("clip_range_vf");
  settings.loss.clips_value_alone = true;
  return settings;
}

TEST(PackageUpdates, ParametersAndRatesAfterThreeUpdatesAreTheRecordedOnes) {
  const Recorded golden("golden_update.safetensors"), file("package_updates.safetensors");
  const nlohmann::json cases = file.cases();
  ASSERT_EQ(cases.size(), 7u);
  const Mirror mirror{.observation = "+0 -1 -3 -2", .critic_observation = {}, .action = "-1 -0"};
  for (const nlohmann::json& one : cases) {
    const std::string name = one.at("name");
    SCOPED_TRACE(name);
    for (const int threads : {1, 2}) {
      const ActorCritic network(shape_of(one));
      Learner learner = learner_at(file.tensor(name + ".before"), network);
      learner.learning_rate = one.at("learning_rate");
      RolloutBlock block(BlockSizes{.T = kSteps, .N = kEnvs, .D = 4, .A = 2, .with_means = true});
      show(golden.tensor("box.two_bodies.observations"), block);
      block.actions = golden.tensor("box.two_bodies.actions");
      block.advantages = golden.tensor("box.two_bodies.advantages");
      for (float& a : block.advantages) a *= one.value("scale", 1.0f);
      ThreadPool pool(threads);
      Ppo ppo(network, settings_of(one), kSteps * kEnvs, 4, 4, 2, pool);
      ValueNormalizer values(ValueNorm::kRunning);
      if (one.contains("statistics")) ppo.set_value_normalizer(&values);
      if (one.contains("mirror_coef")) ppo.set_mirror(&mirror);
      for (int update = 0; update < kUpdates; ++update) {
        act_gaussian(network, learner, block);
        ppo.take_block(learner, block);
        const Status status = ppo.update(block, golden.seed(), golden.iteration(), learner);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      expect_near(learner.params, file.tensor(name + ".after"));
      EXPECT_NEAR(learner.learning_rate, one.at("rate_after").get<double>(), 1e-12);
      if (!one.contains("statistics")) continue;
      const double deviation = std::sqrt(one.at("statistics")[1].get<double>());
      EXPECT_NEAR(values.unit().mean, one.at("statistics")[0].get<double>(), 1e-5 * deviation);
      EXPECT_NEAR(values.unit().deviation, deviation, 1e-5 * deviation);
      EXPECT_EQ(values.statistics().count(), one.at("statistics")[2].get<double>());
    }
  }
}

}  // namespace
}  // namespace broadloom::package_updates
