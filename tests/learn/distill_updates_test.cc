// Compares three updates of distillation in turn with those of RSL-RL, which
// make_distill_updates.py recorded.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/learn/distill.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/record/safetensors.h"
#include "tests/support/folders.h"

namespace broadloom::distill_updates {
namespace {

constexpr int kSteps = 16, kEnvs = 8, kWidth = 16, kUpdates = 3;

SafetensorsFile read_file(const std::string& name) {
  Result<SafetensorsFile> file = read_safetensors(source_folder() + "/tests/learn/" + name);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.take();
}

std::vector<float> tensor(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsFile::Entry& entry = file.tensors.at(name);
  std::vector<float> values((entry.end - entry.begin) / sizeof(float));
  std::memcpy(values.data(), file.data.data() + entry.begin, entry.end - entry.begin);
  return values;
}

// Log-probabilities with the bits that the update will compute.
void act(const ActorCritic& network, const Learner& learner, RolloutBlock& block) {
  TileWorkspace<float> work = network.make_workspace<float>();
  std::vector<float> actions(2 * kTileRows), scratch(2 * kTileRows), log_prob(kTileRows);
  for (std::size_t i = 0; i < block.size(); ++i) {
    network.forward(learner.params.data(), &block.observations.floats()[i * 4], 1, work);
    for (std::size_t a = 0; a < 2; ++a) actions[a * kTileRows] = block.actions[i * 2 + a];
    gaussian_log_probs(work.policy.data(), work.log_std.data(), actions.data(), 2, 1,
                       scratch.data(), log_prob.data());
    block.log_probs[i] = log_prob[0];
  }
}

TEST(DistillUpdates, ParametersAndLossesAfterThreeUpdatesAreTheRecordedOnes) {
  const SafetensorsFile golden = read_file("golden_update.safetensors");
  const SafetensorsFile file = read_file("distill_updates.safetensors");
  const nlohmann::json cases = nlohmann::json::parse(file.metadata.at("cases"));
  ASSERT_EQ(cases.size(), 2U);
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2;
  shape.hidden_sizes = {kWidth, kWidth};
  for (const nlohmann::json& one : cases) {
    const std::string name = one.at("name");
    for (const int threads : {1, 2}) {
      const ActorCritic network(shape);
      Learner learner(network.parameter_count());
      const std::vector<float> before = tensor(file, "before");
      ASSERT_EQ(before.size(), learner.params.size());
      std::copy(before.begin(), before.end(), learner.params.begin());
      learner.learning_rate = one.at("learning_rate");
      RolloutBlock block(BlockSizes{.T = kSteps, .N = kEnvs, .D = 4, .A = 2, .with_labels = true});
      const std::vector<float> seen = tensor(golden, "box.two_bodies.observations");
      std::copy(seen.begin(), seen.end(), block.observations.floats().begin());
      block.actions = tensor(golden, "box.two_bodies.actions");
      block.labels = tensor(file, "labels");
      const int length = one.at("gradient_length");
      DistillSettings settings;
      settings.loss = {one.at("distill_loss") == "huber", static_cast<double>(length)};
      settings.update_epochs = one.at("update_epochs");
      settings.max_grad_norm = one.at("max_grad_norm");
      ThreadPool pool(threads);
      Distill distill(network, settings, kSteps * kEnvs, kSteps / length, 4, 2, pool);
      for (int update = 0; update < kUpdates; ++update) {
        act(network, learner, block);
        const Status status = distill.update(block, 1, update + 1, learner);
        ASSERT_TRUE(status.ok()) << status.message();
        distill.visit_numbers([&](const NumberInfo& info, double value) {
          if (info.name != std::string("behavior_loss")) return;
          EXPECT_NEAR(value, one.at("losses")[static_cast<std::size_t>(update)].get<double>(), 1e-5)
              << name;
        });
      }
      const std::vector<float> after = tensor(file, name + ".after");
      double worst = 0.0;
      for (std::size_t i = 0; i < after.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(after[i] - learner.params[i])));
      }
      EXPECT_LT(worst, 1e-5) << name;
    }
  }
}

}  // namespace
}  // namespace broadloom::distill_updates
