// Runs on observations that are not rows of float32 that policy and critic share: pixels as uint8,
// and observations that only the critic reads. They have all properties of other runs.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "tests/env/observation_envs.h"
#include "tests/golden/folder.h"
#include "tests/support/release_only.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config typed_config(const Overrides& overrides) {
  EXPECT_TRUE(register_observation_envs());
  Overrides all{{"num_envs", "37"},     {"num_steps", "13"},         {"num_minibatches", "3"},
                {"update_epochs", "2"}, {"total_timesteps", "5000"}, {"hidden_sizes", "16,8"},
                {"hashes", "true"}};
  return resolved(add_overrides(all, overrides));
}

bool has_tensor(Trainer& trainer, const std::string& name) {
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.name == name) return true;
  }
  return false;
}

const Overrides kCatch{{"env_id", "Catch-v0"}};
const Overrides kWindy{{"env_id", "Windy-v0"}, {"norm_obs", "true"}, {"norm_reward", "true"}};

class Typed : public ::testing::TestWithParam<Overrides> {};

TEST_P(Typed, SameBitsForAnyThreads) {
  const Config config = typed_config(GetParam());
  const std::unique_ptr<Trainer> one = trainer_of(config, 1);
  run(*one, 4);
  for (const int threads : {2, 5}) {
    const std::unique_ptr<Trainer> other = trainer_of(config, threads);
    run(*other, 4);
    EXPECT_EQ(bytes_of(*other), bytes_of(*one)) << threads;
    EXPECT_EQ(other->hashes()->rows, one->hashes()->rows);
    EXPECT_EQ(other->hashes()->columns, one->hashes()->columns);
  }
}

TEST_P(Typed, SameBitsWithInstrumentsAndEvaluation) {
  const std::unique_ptr<Trainer> plain = trainer_of(typed_config(GetParam()), 2);
  const std::unique_ptr<Trainer> watched =
      trainer_of(typed_config(add_overrides(GetParam(), {{"instruments", all_instruments()}})), 2);
  run(*plain, 4);
  for (int i = 0; i < 4; ++i) {
    run(*watched, 1);
    EXPECT_TRUE(play_episodes(watched->policy(), {.episodes = 3, .seed = 1}).ok());
  }
  EXPECT_EQ(bytes_of(*watched), bytes_of(*plain));
}

TEST_P(Typed, GoesOnFromItsState) {
  const Config config = typed_config(GetParam());
  const std::unique_ptr<Trainer> whole = trainer_of(config, 1), second = trainer_of(config, 2);
  run(*whole, 3);
  std::vector<TensorRef> source = whole->state(), target = second->state();
  ASSERT_EQ(source.size(), target.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    ASSERT_EQ(source[i].bytes(), target[i].bytes());
    std::memcpy(target[i].data, source[i].data, source[i].bytes());
  }
  ASSERT_TRUE(second->state_restored().ok());
  run(*whole, 3);
  run(*second, 3);
  EXPECT_EQ(bytes_of(*second), bytes_of(*whole));
}

TEST_P(Typed, ItsCheckpointHoldsItsPolicy) {
  const golden::Folder folder("typed_policy");
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(GetParam()), 1);
  run(*trainer, 3);
  const std::string path = folder.at("policy.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *trainer, {}).ok());
  const Result<std::unique_ptr<LoadedPolicy>> loaded =
      LoadedPolicy::load(find_checkpoint(path).value());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Policy policy = loaded.value()->view();
  const EvalOptions options{.episodes = 20, .seed = 3, .actions = EvalActions::kSampled};
  const std::vector<EvalEpisode> a = play_episodes(policy, options).take();
  const std::vector<EvalEpisode> b = play_episodes(trainer->policy(), options).take();
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].episode_return, b[i].episode_return);
    ASSERT_EQ(a[i].length, b[i].length);
  }
  ASSERT_EQ(policy.critic_norm == nullptr, trainer->critic_normalizer() == nullptr);
  if (policy.critic_norm == nullptr) return;
  EXPECT_EQ(policy.critic_norm->statistics().mean(),
            trainer->critic_normalizer()->statistics().mean());
}

const Overrides kPlanes{{"env_id", "MinAtar/Breakout-v1"}};

const Overrides kFrames{{"env_id", "Catch-v0"}, {"env.frame_stack", "3"}};

INSTANTIATE_TEST_SUITE_P(Environments, Typed, ::testing::Values(kCatch, kWindy, kPlanes, kFrames));

TEST(Pixels, AreOneByteEachInTheBlock) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kCatch), 2);
  const RolloutBlock& block = trainer->block();
  EXPECT_EQ(block.observations.type(), (ObservationType{30, Dtype::kU8}));
  BlockSizes as_floats = block;
  as_floats.dtype = Dtype::kF32;
  const std::size_t pixels = block.observations.size() + block.final_observations.size();
  EXPECT_EQ(RolloutBlock::bytes(as_floats) - RolloutBlock::bytes(block), 3 * pixels);
}

// The network reads them divided by 255, also in the collector.
TEST(Pixels, AreDividedBy255ForTheNetwork) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kCatch), 2);
  std::vector<float> params(trainer->params(),
                            trainer->params() + trainer->network().parameter_count());
  run(*trainer, 1);
  const RolloutBlock& block = trainer->block();
  TileWorkspace<float> work = trainer->network().make_workspace<float>();
  std::vector<float> row(static_cast<std::size_t>(block.D));
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto pixels = block.observations.row_bytes(i);
    int bats = 0;
    for (std::size_t d = 0; d < row.size(); ++d) {
      const auto pixel = static_cast<std::uint8_t>(pixels[d]);
      ASSERT_TRUE(pixel == 0 || pixel == 100 || pixel == 255);
      bats += pixel == 0 ? 0 : 1;
      row[d] = static_cast<float>(pixel) / 255.0f;
    }
    ASSERT_TRUE(bats == 1 || bats == 2);
    trainer->network().forward(params.data(), row.data(), 1, work);
    ASSERT_EQ(block.values[i], work.values[0]);
  }
}

// Planes of 0 and 1 are not scaled.
TEST(Planes, AreZeroAndOneForTheNetwork) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kPlanes), 2);
  std::vector<float> params(trainer->params(),
                            trainer->params() + trainer->network().parameter_count());
  run(*trainer, 1);
  const RolloutBlock& block = trainer->block();
  EXPECT_EQ(block.observations.type(), (ObservationType{400, Dtype::kU8, 1.0f}));
  EXPECT_EQ(block.final_observations.type(), block.observations.type());
  TileWorkspace<float> work = trainer->network().make_workspace<float>();
  std::vector<float> row(400);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto cells = block.observations.row_bytes(i);
    for (std::size_t d = 0; d < row.size(); ++d)
      row[d] = static_cast<float>(static_cast<std::uint8_t>(cells[d]));
    ASSERT_EQ(*std::max_element(row.begin(), row.end()), 1.0f);
    trainer->network().forward(params.data(), row.data(), 1, work);
    ASSERT_EQ(block.values[i], work.values[0]);
  }
}

// Another scale of the same bytes is another task.
TEST(Planes, AreNotPixelsOfTheSameShape) {
  const Space planes = Space::bits({10, 10, 4}), pixels = Space::bytes({10, 10, 4});
  EXPECT_EQ(shape_text(planes), "Box(10, 10, 4; uint8 to 1)");
  EXPECT_EQ(shape_text(pixels), "Box(10, 10, 4; uint8)");
  EXPECT_FALSE(same_shape(planes, pixels));
  EXPECT_TRUE(same_shape(planes, Space::bits({10, 10, 4})));
  EXPECT_EQ(Space::bytes({2}, 15).full_scale(), 15.0f);
  EXPECT_EQ(Space::bytes({2}, 0).full_scale(), 255.0f);
  Observations rows({2, Dtype::kU8, 15.0f}, 1);
  rows.rows().bytes()[0] = 5;
  rows.rows().bytes()[1] = 15;
  std::vector<float> out(2);
  rows.read(0, 1, out.data());
  EXPECT_EQ(out, (std::vector<float>{5.0f / 15.0f, 1.0f}));
}

TEST(Pixels, AreLearntFrom) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  const std::unique_ptr<Trainer> trainer =
      trainer_of(typed_config(add_overrides(kCatch, {{"num_envs", "64"},
                                                     {"num_steps", "32"},
                                                     {"learning_rate", "3e-3"},
                                                     {"num_minibatches", "4"},
                                                     {"hidden_sizes", "64"},
                                                     {"total_timesteps", "120000"},
                                                     {"update_epochs", "4"}})),
                 2);
  while (!trainer->finished()) run(*trainer, 1);
  EXPECT_GT(trainer->report().mean_return, 3.0);  // of 5 at most; 0.25 at random
}

TEST(Pixels, AreNotNormalised) {
  const Status status =
      Trainer::create(typed_config(add_overrides(kCatch, {{"norm_obs", "true"}})), 1).status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("Box(6, 5, 1; uint8)"), std::string::npos) << status.message();
  const Result<std::unique_ptr<VecEnv>> noisy =
      make_vec_env("Catch-v0", {{"disturb.obs_noise", "0.1"}}, {});
  EXPECT_EQ(noisy.status().kind(), ErrorKind::kInvalidConfig);
}

// Values of a block, computed only by the critic.
class CriticOf {
 public:
  explicit CriticOf(const Trainer& trainer)
      : network_(trainer.network()),
        params_(trainer.params(), trainer.params() + network_.parameter_count()),
        work_(network_.make_workspace<float>()) {}
  float operator()(const Observations& rows, std::size_t row) {
    std::vector<float> seen(static_cast<std::size_t>(rows.type().size));
    rows.read(row, 1, seen.data());
    network_.forward(params_.data(), seen.data(), 1, work_, NetworkSide::kValue);
    return work_.values[0];
  }

 private:
  const ActorCritic& network_;
  std::vector<float> params_;
  TileWorkspace<float> work_;
};

TEST(CriticObservations, AreWhatEveryValueIsOf) {
  const std::unique_ptr<Trainer> trainer =
      trainer_of(typed_config(add_overrides(kWindy, {{"num_steps", "45"}})), 2);
  run(*trainer, 2);
  CriticOf critic(*trainer);
  run(*trainer, 1);
  const RolloutBlock& block = trainer->block();
  ASSERT_EQ(block.critic.size, 3);
  for (std::size_t i = 0; i < block.size(); ++i) {
    ASSERT_EQ(block.values[i], critic(block.critic_observations, i));
  }
  int truncations = 0;
  for (int n = 0; n < block.N; ++n) {
    for (int s = 0; s < block.truncations[n]; ++s, ++truncations) {
      const std::size_t place = block.final_index(n, s);
      ASSERT_EQ(block.final_values[place], critic(block.final_critic_observations, place));
    }
  }
  EXPECT_GT(truncations, block.N);
}

// Uses its own statistics; those of the second number differ much from the policy's.
TEST(CriticObservations, HaveANormaliserOfTheirOwn) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kWindy), 2);
  run(*trainer, 3);
  const ObsNormalizer* normalizer = trainer->critic_normalizer();
  ASSERT_NE(normalizer, nullptr);
  EXPECT_NEAR(normalizer->statistics().mean()[1], 100.0, 1.0);
  EXPECT_DOUBLE_EQ(normalizer->statistics().mean()[0],
                   trainer->obs_normalizer()->statistics().mean()[0]);
  EXPECT_TRUE(has_tensor(*trainer, "critic_obs_normalizer.mean"));
  const RolloutBlock& block = trainer->block();
  std::vector<float> row(3);
  double largest = 0.0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    block.critic_observations.read(i, 1, row.data());
    largest = std::max(largest, std::abs(static_cast<double>(row[1])));
  }
  EXPECT_LT(largest, 4.0);
}

TEST(CriticObservations, HaveAHashOfTheirOwn) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kWindy), 2);
  const std::vector<const char*>& fields = trainer->hashes()->fields;
  ASSERT_EQ(fields.size(), 8u);
  EXPECT_STREQ(fields[0], "observations");
  EXPECT_STREQ(fields[1], "critic_observations");
  EXPECT_EQ(trainer_of(typed_config(kCatch), 1)->hashes()->fields.size(), 7u);
}

// The policy does not read them: its network has one input.
TEST(CriticObservations, AreNotThePolicys) {
  const std::unique_ptr<Trainer> trainer = trainer_of(typed_config(kWindy), 2);
  const ActorCritic& network = trainer->network();
  EXPECT_EQ(network.actor().layers().front().slice.in, 1);
  EXPECT_EQ(network.critic().layers().front().slice.in, 3);
  const std::unique_ptr<Trainer> plain =
      trainer_of(typed_config({{"env_id", "CartPole-v1"}, {"norm_obs", "true"}}), 1);
  EXPECT_FALSE(has_tensor(*plain, "critic_obs_normalizer.mean"));
  EXPECT_TRUE(plain->block().critic_observations.empty());
}

TEST(CriticObservations, AreLearntFrom) {
  const std::unique_ptr<Trainer> trainer =
      trainer_of(typed_config(add_overrides(kWindy, {{"num_envs", "64"},
                                                     {"num_steps", "40"},
                                                     {"learning_rate", "3e-3"},
                                                     {"num_minibatches", "4"},
                                                     {"hidden_sizes", "32"},
                                                     {"total_timesteps", "120000"},
                                                     {"update_epochs", "4"}})),
                 2);
  run(*trainer, 2);
  const double before = trainer->report().mean_return;
  while (!trainer->finished()) run(*trainer, 1);
  EXPECT_GT(trainer->report().mean_return, 0.3 * before) << before;  // costs: less is better
  EXPECT_GT(trainer->report().explained_variance, 0.5);
}

TEST(CriticObservations, AreNotForASharedEncoder) {
  const Status status =
      Trainer::create(typed_config(add_overrides(kWindy, {{"shared_encoder", "true"}})), 1)
          .status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(status.message().find("shared_encoder = false"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace broadloom
