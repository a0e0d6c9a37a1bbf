// Compares SAPG with the program of its authors, which make_sapg_updates.py recorded: values,
// targets and log-probabilities of a first block with its relabelled samples, and the parameters
// after each of three blocks and updates.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "broadloom/learn/ppo.h"
#include "broadloom/learn/relabelled.h"
#include "broadloom/nn/policy_distribution.h"
#include "tests/learn/recorded.h"

namespace broadloom::sapg_updates {
namespace {

constexpr int kSteps = 16, kSeen = 4, kActions = 2, kWidth = 8, kUpdates = 3, kMinibatches = 4;
constexpr std::uint64_t kSeed = 1;

// A recorded case, with a block of ours.
struct Case {
  Case(const Recorded& of_file, const std::string& of_name, const nlohmann::json& recorded)
      : file(of_file),
        name(of_name),
        one(recorded),
        envs(recorded.at("envs")),
        network(shape()),
        block({.T = kSteps,
               .N = envs,
               .D = kSeen,
               .A = kActions,
               .policies = network.shape().policies}) {
    const int followers = one.at("followers");
    samples = kSteps * (envs + followers * block.envs_per_policy());
    settings.loss.clip_coef = one.at("clip_coef");
    settings.loss.clip_vloss = one.at("clip_value");
    settings.loss.ent_coef = one.at("ent_coef");
    settings.loss.vf_coef = one.at("vf_coef");
    settings.loss.bounds_coef = one.at("bounds_coef");
    settings.loss.follower_entropy = 0.5 * one.at("entropy_scale").get<double>();
    settings.gamma = 0.97;
    settings.gae_lambda = 0.9;
    settings.update_epochs = one.at("update_epochs");
    settings.norm_adv = AdvantageNorm::kBatch;
    settings.max_grad_norm = one.at("max_grad_norm");
    settings.adam_eps = 1e-8;
    settings.shuffle = Shuffle::kBlock;
    settings.relabel = {.followers = followers, .gamma = settings.gamma};
  }

  NetworkShape shape() const {
    NetworkShape shape;
    shape.observation_size = kSeen;
    shape.action_kind = SpaceKind::kBox;
    shape.action_outputs = 2 * kActions;  // means, and deviations of the row's policy
    shape.hidden_sizes = {kWidth, kWidth};
    shape.activation = one.at("activation") == "elu" ? Activation::kElu : Activation::kTanh;
    shape.shared_encoder = true;
    shape.policies = one.at("policies");
    shape.policy_vector_size = 32;
    return shape;
  }

  std::vector<float> recorded(const std::string& part) const {
    return file.tensor(name + "." + part);
  }

  // Fills the block as the collector leaves it, from the recorded environments and actions.
  void play(int update, const Learner& learner) {
    const auto part_of = [&](const std::vector<float>& all, std::size_t columns, auto&& target) {
      const std::size_t size = target.size();
      ASSERT_EQ(size, columns * static_cast<std::size_t>(kSteps * envs));
      std::copy_n(
          all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(update) * size), size,
          target.begin());
    };
    const std::vector<float> seen = recorded("observations");
    part_of(seen, kSeen, block.observations.floats());
    const std::span<float> last = block.last_observations.floats();
    const std::size_t after = static_cast<std::size_t>((update + 1) * kSteps) * last.size();
    std::copy_n(seen.begin() + static_cast<std::ptrdiff_t>(after), last.size(), last.begin());
    part_of(recorded("rewards"), 1, block.rewards);
    part_of(recorded("ended"), 1, block.terminated);
    part_of(recorded("actions"), kActions, block.actions);
    act(learner);
  }

  void act(const Learner& learner) {
    TileWorkspace<float> work = network.make_workspace<float>();
    TileBatch<float> tile(network.shape());
    tile.rows = 1;
    const auto forward = [&](const Observations& seen, std::size_t row, int n) {
      seen.read(row, 1, tile.observations.data());
      tile.policies[0] = block.policy_of(n);
      network.forward(learner.params.data(), tile.input(), 1, work);
      return work.values[0];
    };
    for (std::size_t i = 0; i < block.size(); ++i) {
      block.values[i] = forward(block.observations, i, static_cast<int>(i) % envs);
      for (std::size_t a = 0; a < kActions; ++a) {
        tile.actions[a * kTileRows] = block.actions[i * kActions + a];
      }
      set_log_probs(network, tile, work);
      block.log_probs[i] = tile.log_probs[0];
    }
    for (int n = 0; n < envs; ++n) {
      const auto row = static_cast<std::size_t>(n);
      block.last_values[row] = forward(block.last_observations, row, n);
    }
  }

  const Recorded& file;
  std::string name;
  nlohmann::json one;
  int envs;
  ActorCritic network;
  RolloutBlock block;
  PpoSettings settings;
  int samples;  // of the block, and relabelled ones
};

// The block's samples, then the relabelled ones.
void expect_mixed(const Case& recorded, const Relabelled& relabelled) {
  const RolloutBlock& block = recorded.block;
  std::vector<float> values, targets, neg_log_probs;
  const auto add = [&](const RolloutBlock& samples, std::size_t i, std::size_t source) {
    values.push_back(samples.values[i]);
    targets.push_back(samples.advantages[i] + samples.values[i]);
    neg_log_probs.push_back(-block.log_probs[source]);
  };
  for (std::size_t i = 0; i < block.size(); ++i) add(block, i, i);
  for (std::size_t v = 0; v < relabelled.samples().size(); ++v) {
    add(relabelled.samples(), v, relabelled.source(block, v));
  }
  expect_near(values, recorded.recorded("values"));
  expect_near(targets, recorded.recorded("returns"));
  expect_near(neg_log_probs, recorded.recorded("neglogpacs"));
}

void expect_three_updates(Case recorded, int threads) {
  Learner learner = learner_at(recorded.recorded("before"), recorded.network);
  learner.learning_rate = recorded.one.at("learning_rate");
  ThreadPool pool(threads);
  RolloutBlock& block = recorded.block;
  Ppo ppo(recorded.network, recorded.settings, recorded.samples, kMinibatches, kSeen, kActions,
          pool);
  Relabelled relabelled(recorded.network, recorded.settings.relabel, pool);
  for (int update = 0; update < kUpdates; ++update) {
    SCOPED_TRACE(update);
    recorded.play(update, learner);
    ppo.compute_targets(block, 0, block.N);
    relabelled.take(block, learner.params.data(), nullptr, kSeed, update + 1);
    const auto drawn = recorded.one.at("drawn")[static_cast<std::size_t>(update)];
    for (std::size_t k = 0; k < drawn.size(); ++k) {
      ASSERT_EQ(relabelled.followers()[k], drawn[k].get<int>()) << "the draw has changed";
    }
    if (update == 0) expect_mixed(recorded, relabelled);
    const Status status = ppo.update(block, kSeed, update + 1, learner);
    ASSERT_TRUE(status.ok()) << status.message();
    expect_near(learner.params, recorded.recorded("after_" + std::to_string(update + 1)));
  }
}

TEST(SapgUpdates, BlocksAndThreeUpdatesAreThoseOfTheAuthors) {
  const Recorded file("sapg_updates.safetensors");
  const nlohmann::json cases = file.cases();
  ASSERT_EQ(cases.size(), 2u);
  for (const auto& [name, one] : cases.items()) {
    SCOPED_TRACE(name);
    for (const int threads : {1, 2}) expect_three_updates(Case(file, name, one), threads);
  }
}

}  // namespace
}  // namespace broadloom::sapg_updates
