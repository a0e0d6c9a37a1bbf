// Compares three updates of distillation in turn with those of RSL-RL, which
// make_distill_updates.py recorded.
// sanitizers: none
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "broadloom/learn/distill.h"
#include "tests/learn/recorded.h"

namespace broadloom::distill_updates {
namespace {

constexpr int kSteps = 16, kEnvs = 8, kWidth = 16, kUpdates = 3;

TEST(DistillUpdates, ParametersAndLossesAfterThreeUpdatesAreTheRecordedOnes) {
  const Recorded golden("golden_update.safetensors"), file("distill_updates.safetensors");
  const nlohmann::json cases = file.cases();
  ASSERT_EQ(cases.size(), 2U);
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2;
  shape.hidden_sizes = {kWidth, kWidth};
  for (const nlohmann::json& one : cases) {
    const std::string name = one.at("name");
    SCOPED_TRACE(name);
    for (const int threads : {1, 2}) {
      const ActorCritic network(shape);
      Learner learner = learner_at(file.tensor("before"), network);
      learner.learning_rate = one.at("learning_rate");
      RolloutBlock block(BlockSizes{.T = kSteps, .N = kEnvs, .D = 4, .A = 2, .with_labels = true});
      show(golden.tensor("box.two_bodies.observations"), block);
      block.actions = golden.tensor("box.two_bodies.actions");
      block.labels = file.tensor("labels");
      const int length = one.at("gradient_length");
      DistillSettings settings;
      settings.loss = {one.at("distill_loss") == "huber", static_cast<double>(length)};
      settings.update_epochs = one.at("update_epochs");
      settings.max_grad_norm = one.at("max_grad_norm");
      ThreadPool pool(threads);
      Distill distill(network, settings, kSteps * kEnvs, kSteps / length, 4, 2, pool);
      for (int update = 0; update < kUpdates; ++update) {
        act_gaussian(network, learner, block);
        const Status status = distill.update(block, 1, update + 1, learner);
        ASSERT_TRUE(status.ok()) << status.message();
        distill.visit_numbers([&](const NumberInfo& info, double value) {
          if (info.name != std::string("behavior_loss")) return;
          EXPECT_NEAR(value, one.at("losses")[static_cast<std::size_t>(update)].get<double>(),
                      1e-5);
        });
      }
      expect_near(learner.params, file.tensor(name + ".after"));
    }
  }
}

}  // namespace
}  // namespace broadloom::distill_updates
