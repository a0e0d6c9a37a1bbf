// Compares whole updates with CleanRL's formulas in PyTorch, which make_golden_update.py recorded.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "broadloom/nn/distributions.h"
#include "tests/learn/recorded.h"

namespace broadloom {
namespace {

constexpr double kTolerance = 1e-5;
constexpr int kSteps = 16, kEnvs = 8, kWidth = 16;

// "discrete.one_body" and its like.
NetworkShape shape_of(const Recorded& recorded, const std::string& kind) {
  NetworkShape shape;
  shape.observation_size = static_cast<int>(recorded.columns(kind + ".observations"));
  const bool is_box = kind.starts_with("box");
  shape.action_kind = is_box ? SpaceKind::kBox : SpaceKind::kDiscrete;
  shape.action_outputs = is_box ? static_cast<int>(recorded.columns(kind + ".actions")) : 3;
  shape.hidden_sizes = {kWidth, kWidth};
  shape.shared_encoder = kind.ends_with("one_body");
  return shape;
}

// The recorded block, and the network that collected it.
struct RecordedScene {
  RecordedScene(const Recorded& recorded, const std::string& kind)
      : network(shape_of(recorded, kind)),
        learner(learner_at(recorded.tensor(kind + ".before"), network)),
        block(kSteps, kEnvs, network.shape().observation_size,
              network.shape().action_kind == SpaceKind::kBox ? network.shape().action_outputs : 1,
              0) {
    show(recorded.tensor(kind + ".observations"), block);
    block.actions = recorded.tensor(kind + ".actions");
    block.values = recorded.tensor(kind + ".values");
    block.advantages = recorded.tensor(kind + ".advantages");
    act();
  }

  // Actions, log-probabilities with the bits that the update will compute, and values.
  void act() {
    TileWorkspace<float> work = network.make_workspace<float>();
    const int outputs = network.shape().action_outputs;
    std::vector<float> actions(block.A * kTileRows), scratch(outputs * kTileRows);
    std::vector<float> normaliser(kTileRows), log_prob(kTileRows);
    for (std::size_t i = 0; i < block.size(); ++i) {
      network.forward(learner.params.data(), &block.observations.floats()[i * block.D], 1, work);
      const float* policy = work.policy.data();
      for (int a = 0; a < block.A; ++a) actions[a * kTileRows] = block.actions[i * block.A + a];
      if (network.shape().action_kind == SpaceKind::kDiscrete) {
        categorical_normalisers(policy, outputs, 1, normaliser.data());
        categorical_log_probs(policy, normaliser.data(), actions.data(), outputs, 1,
                              log_prob.data());
      } else {
        gaussian_log_probs(policy, learner.params.data() + network.log_std_offset(), actions.data(),
                           outputs, 1, scratch.data(), log_prob.data());
      }
      block.log_probs[i] = log_prob[0];
      found_values.push_back(work.values[0]);
    }
  }

  ActorCritic network;
  Learner learner;
  RolloutBlock block;
  std::vector<float> found_values;
};

PpoSettings settings_of(const nlohmann::json& recorded) {
  const std::map<std::string, AdvantageNorm> norms{{"off", AdvantageNorm::kOff},
                                                   {"minibatch", AdvantageNorm::kMinibatch},
                                                   {"batch", AdvantageNorm::kBatch}};
  PpoSettings settings;
  settings.loss = {recorded.at("clip_coef"), recorded.at("clip_vloss"), recorded.at("ent_coef"),
                   recorded.at("vf_coef")};
  settings.update_epochs = recorded.at("update_epochs");
  settings.norm_adv = norms.at(recorded.at("norm_adv"));
  settings.max_grad_norm = recorded.at("max_grad_norm");
  settings.target_kl = recorded.at("target_kl");
  settings.adam_eps = recorded.at("adam_eps");
  return settings;
}

void expect_means(const UpdateStats& stats, const nlohmann::json& expected) {
  EXPECT_NEAR(stats.policy_loss, expected.at("policy_loss"), kTolerance);
  EXPECT_NEAR(stats.value_loss, expected.at("value_loss"), kTolerance);
  EXPECT_NEAR(stats.entropy, expected.at("entropy"), kTolerance);
  EXPECT_NEAR(stats.old_approx_kl, expected.at("old_approx_kl"), kTolerance);
  EXPECT_NEAR(stats.approx_kl, expected.at("approx_kl"), kTolerance);
  EXPECT_NEAR(stats.clipfrac, expected.at("clipfrac"), kTolerance);
  EXPECT_NEAR(stats.grad_norm, expected.at("grad_norm"), kTolerance);
}

// If this test fails, the update tests fail for the same reason.
TEST(GoldenUpdate, PermutationsAreTheRecordedOnes) {
  const Recorded recorded("golden_update.safetensors");
  const auto expected = recorded.tensor<std::int32_t>("permutations");
  constexpr int kBatch = kSteps * kEnvs;
  ASSERT_EQ(expected.size() % kBatch, 0u);
  Minibatches minibatches(kBatch, 1);
  for (int epoch = 0; epoch < static_cast<int>(expected.size()) / kBatch; ++epoch) {
    minibatches.shuffle(recorded.seed(), recorded.iteration(), epoch);
    EXPECT_TRUE(std::equal(minibatches.indices(0), minibatches.indices(0) + kBatch,
                           expected.begin() + static_cast<std::ptrdiff_t>(epoch) * kBatch))
        << "epoch " << epoch;
  }
}

TEST(GoldenUpdate, PolicyAndValueBeforeAreTheRecordedOnes) {
  const Recorded recorded("golden_update.safetensors");
  for (const char* kind :
       {"discrete.two_bodies", "discrete.one_body", "box.two_bodies", "box.one_body"}) {
    SCOPED_TRACE(kind);
    const RecordedScene scene(recorded, kind);
    expect_near(scene.block.log_probs, recorded.tensor(std::string(kind) + ".log_probs"));
    expect_near(scene.found_values, scene.block.values);
  }
}

TEST(GoldenUpdate, ParametersAfterAndLossesAreTheRecordedOnes) {
  const Recorded recorded("golden_update.safetensors");
  const nlohmann::json cases = recorded.cases();
  ASSERT_EQ(cases.size(), 34u);
  for (const nlohmann::json& one : cases) {
    const std::string name =
        one.at("kind").get<std::string>() + "." + one.at("name").get<std::string>();
    SCOPED_TRACE(name);
    for (const int threads : {1, 2}) {
      RecordedScene scene(recorded, one.at("kind"));
      scene.learner.learning_rate = one.at("learning_rate");
      ThreadPool pool(threads);
      Ppo ppo(scene.network, settings_of(one), kSteps * kEnvs, one.at("minibatches"), scene.block.D,
              scene.block.A, pool);
      const Status status =
          ppo.update(scene.block, recorded.seed(), recorded.iteration(), scene.learner);
      ASSERT_TRUE(status.ok()) << status.message();
      expect_near(scene.learner.params, recorded.tensor(name + ".after"));
      expect_means(ppo.stats(), one.at("means"));
      EXPECT_EQ(ppo.epochs(), one.at("epochs").get<int>());
    }
  }
}

}  // namespace
}  // namespace broadloom
