// Runs on stacks of frames have the same bits whether blocks store each frame once or whole stacks,
// the slow and simple form.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/frame_stack.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/trainer.h"
#include "tests/env/picture_envs.h"
#include "tests/golden/folder.h"
#include "tests/support/release_only.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config frames_config(const Overrides& overrides) {
  EXPECT_TRUE(register_picture_envs());
  Overrides all{{"env_id", "Volley-v0"}, {"env.frame_stack", "4"},  {"num_minibatches", "3"},
                {"update_epochs", "2"},  {"hidden_sizes", "16,8"},  {"total_timesteps", "200000"},
                {"hashes", "true"},      {"max_episode_steps", "9"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const bool is_volley = std::none_of(overrides.begin(), overrides.end(),
                                      [](const auto& option) { return option.first == "env_id"; });
  if (is_volley) all.insert(all.begin() + 1, {"env.marked", "true"});
  return resolved(all);
}

std::unique_ptr<Trainer> frames_trainer(const Config& config, int threads) {
  return trainer_on(config, envs_of(config), threads);
}
std::unique_ptr<Trainer> whole_trainer_of(const Config& config, int threads) {
  return trainer_on(config, std::make_unique<WholeStacks>(envs_of(config)), threads);
}

// All reports of the last iteration, with all hashes except those of observations, which depend on
// storage.
std::string said_of_frames(const Trainer& trainer) {
  std::string out;
  const auto add = [&](const NumberInfo& info, double value) {
    out += info.name;
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  trainer.instruments().visit_numbers(add);
  const BlockHashes& hashes = *trainer.hashes();
  for (std::size_t i = static_cast<std::size_t>(hashes.N); i < hashes.rows.size(); ++i) {
    out += std::to_string(hashes.rows[i]) + " ";
  }
  for (std::size_t i = static_cast<std::size_t>(hashes.T); i < hashes.columns.size(); ++i) {
    out += std::to_string(hashes.columns[i]) + " ";
  }
  const RolloutBlock& block = trainer.block();
  out.append(reinterpret_cast<const char*>(block.advantages.data()),
             block.advantages.size() * sizeof(float));
  return out + std::to_string(hashes.params) + " " + std::to_string(trainer.report().mean_return);
}

std::vector<float> seen_in(const RolloutBlock& block) {
  std::vector<float> out(block.observations.size());
  block.observations.read(0, block.size(), out.data());
  return out;
}

struct FramesRun {
  const char* name;
  Overrides overrides;
  bool has_truncations = true;
};

class FramesOf : public ::testing::TestWithParam<FramesRun> {};

// The slow form on one thread, the other on 1, 2 and 5.
TEST_P(FramesOf, HaveTheBitsOfWholeStacks) {
  const Config config = frames_config(GetParam().overrides);
  const std::unique_ptr<Trainer> whole = whole_trainer_of(config, 1);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const int threads : {1, 2, 5}) trainers.push_back(frames_trainer(config, threads));
  int truncated = 0, ended = 0, at_border = 0;
  for (int i = 0; i < 6; ++i) {
    const Status status = whole->iterate();
    ASSERT_TRUE(status.ok()) << status.message();
    const RolloutBlock& block = whole->block();
    for (const std::uint8_t cut : block.truncated) truncated += cut;
    for (const std::uint8_t end : block.terminated) ended += end;
    for (int n = 0; n < block.N; ++n) {
      const std::size_t last = block.index(block.T - 1, n);
      at_border += block.terminated[last] | block.truncated[last];
    }
    for (const std::unique_ptr<Trainer>& trainer : trainers) {
      ASSERT_TRUE(trainer->iterate().ok());
      ASSERT_TRUE(seen_in(trainer->block()) == seen_in(block)) << i;
      ASSERT_TRUE(said_of_frames(*trainer) == said_of_frames(*whole)) << i;
      ASSERT_TRUE(bytes_of(*trainer) == bytes_of(*whole)) << i;
    }
  }
  EXPECT_GT(ended, 0);
  EXPECT_GT(at_border, 0);
  if (GetParam().has_truncations) {
    EXPECT_GT(truncated, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, FramesOf,
    ::testing::Values(
        FramesRun{"wide", {{"num_envs", "37"}, {"num_steps", "13"}}},
        FramesRun{"zeros",
                  {{"num_envs", "37"}, {"num_steps", "13"}, {"env.frame_padding", "zero"}}},
        FramesRun{"shorter_than_a_stack", {{"num_envs", "37"}, {"num_steps", "2"}}},
        FramesRun{"of_one_step", {{"num_envs", "37"}, {"num_steps", "1"}}, false},
        FramesRun{"seven_frames",
                  {{"num_envs", "5"}, {"num_steps", "50"}, {"env.frame_stack", "7"}}},
        FramesRun{"channels",
                  {{"num_envs", "20"},
                   {"num_steps", "9"},
                   {"env.channels", "3"},
                   {"env.frame_stack", "2"}}},
        FramesRun{"planes",
                  {{"env_id", "MinAtar/Asterix-v1"},
                   {"env.frame_stack", "3"},
                   {"num_envs", "12"},
                   {"num_steps", "22"},
                   {"max_episode_steps", "11"}}},
        FramesRun{"convolutions",
                  {{"num_envs", "10"},
                   {"num_steps", "12"},
                   {"encoder", "minatar"},
                   {"shared_encoder", "true"}}},
        FramesRun{"action_values", {{"algorithm", "pqn"}, {"num_envs", "37"}, {"num_steps", "13"}}},
        FramesRun{"staggered",
                  {{"num_envs", "37"}, {"num_steps", "13"}, {"stagger_starts", "true"}}},
        FramesRun{"instruments",
                  {{"num_envs", "37"},
                   {"num_steps", "13"},
                   {"instrument_every", "1"},
                   {"instruments", "gradient,plasticity,policy,coverage,audit"}}},
        FramesRun{"schedule",
                  {{"total_timesteps", "700"},
                   {"shape_schedule", "6x16 @ 0, 37x2/50 @ 0.25, 3x24 @ 0.5, 20x5 @ 0.7"}}}),
    [](const ::testing::TestParamInfo<FramesRun>& info) { return std::string(info.param.name); });

// Changes one pixel of one environment's observation after some steps.
class PlantedPixel final : public ForwardingVecEnv {
 public:
  PlantedPixel(std::unique_ptr<VecEnv> envs, int env, std::int64_t step)
      : ForwardingVecEnv(std::move(envs)), env_(env), step_(step) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    if (env_ < begin || env_ >= end || made_++ != step_) return {};
    const int width = spec().observation_size();
    rows.observations.bytes()[(env_ - begin) * width + 3] ^= 1;
    return {};
  }

 private:
  int env_;
  std::int64_t step_, made_ = 0;
};

TEST(FrameHashes, NameWhereAFrameCameInThatIsAnother) {
  const Config config = frames_config({{"num_envs", "7"}, {"num_steps", "6"}});
  Config plain = config;
  plain.env_options = {{"marked", "true"}};
  for (const std::int64_t made : {2, 5, 7}) {
    const std::unique_ptr<Trainer> clean = frames_trainer(config, 1);
    const std::unique_ptr<Trainer> planted = trainer_on(
        config,
        stack_frames(std::make_unique<PlantedPixel>(envs_of(plain), 4, made), {.frame_stack = 4}),
        1);
    for (std::int64_t i = 0; i <= (made + 1) / 6; ++i) {
      ASSERT_TRUE(clean->iterate().ok());
      ASSERT_TRUE(planted->iterate().ok());
    }
    const BlockHashes &a = *clean->hashes(), &b = *planted->hashes();
    int first = 0;
    while (first < a.T && a.column(0, first) == b.column(0, first)) ++first;
    EXPECT_EQ(first, (made + 1) % 6);
    for (int n = 0; n < a.N; ++n) EXPECT_EQ(a.row(0, n) == b.row(0, n), n != 4) << made;
  }
}

TEST(Frames, GoOnFromACheckpoint) {
  const golden::Folder folder("frames_resume");
  const Config config = frames_config({{"num_envs", "37"}, {"num_steps", "13"}});
  const std::unique_ptr<Trainer> whole = frames_trainer(config, 2),
                                 second = frames_trainer(config, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(whole->iterate().ok());
  const std::string path = folder.at("state.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *whole, {}).ok());
  const Status restored = restore(read_checkpoint(path).value(), *second);
  ASSERT_TRUE(restored.ok()) << restored.message();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(whole->iterate().ok());
    ASSERT_TRUE(second->iterate().ok());
    EXPECT_EQ(said_of_frames(*whole), said_of_frames(*second));
  }
  EXPECT_EQ(bytes_of(*whole), bytes_of(*second));
}

TEST(Frames, ArePlayedAsTheyWereTrained) {
  const golden::Folder folder("frames_policy");
  const Config config = frames_config({{"num_envs", "8"}, {"num_steps", "8"}});
  const std::unique_ptr<Trainer> trainer = frames_trainer(config, 2);
  ASSERT_TRUE(trainer->iterate().ok());
  const std::string path = folder.at("policy.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *trainer, {}).ok());
  const std::unique_ptr<LoadedPolicy> loaded =
      LoadedPolicy::load(find_checkpoint(path).value()).take();
  EXPECT_EQ(loaded->view().spec.observation.frames, 4);
  const EvalOptions options{.episodes = 20, .seed = 3, .actions = EvalActions::kSampled};
  const std::vector<EvalEpisode> a = play_episodes(loaded->view(), options).take();
  const std::vector<EvalEpisode> b = play_episodes(trainer->policy(), options).take();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].length, b[i].length);
  const Panel other =
      parse_panel("env_id = \"Volley-v0\"\nepisodes = 2\n[env]\nframe_stack = 3\n", "panel").take();
  const Status status = check_panel_fits(other, config);
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("Box(6, 7, 4; uint8, 4 frames)"), std::string::npos)
      << status.message();
  const Panel same =
      parse_panel("env_id = \"Volley-v0\"\nepisodes = 2\n[env]\nframe_stack = 4\n", "panel").take();
  EXPECT_TRUE(check_panel_fits(same, config).ok());
}

Overrides large() {
  Overrides all = kLarge;
  for (const auto& [key, value] : {std::pair{"num_envs", "128"},
                                   {"num_steps", "128"},
                                   {"encoder", "nature"},
                                   {"shared_encoder", "true"},
                                   {"hidden_sizes", "512"},
                                   {"hashes", "false"},
                                   {"max_episode_steps", "200"}}) {
    all.emplace_back(key, value);
  }
  return all;
}

TEST(Frames, AreInTheContract) {
  const RolloutContract contract = make_contract(frames_config(large()), 2).take();
  EXPECT_EQ(contract.observation->frames, 4);
  EXPECT_LT(contract.memory.block, 130e6);
  const std::string text = contract_text(contract);
  EXPECT_NE(
      text.find("of shape (84, 84, 4), which networks read divided by 255, the last 4 frames"),
      std::string::npos)
      << text;
}

TEST(Frames, BeyondTheMemoryLimitAreRefusedWithNumbers) {
  Overrides small = large();
  small.emplace_back("memory_limit", "120");
  const Status status = Trainer::create(frames_config(small), 1).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("120"), std::string::npos) << status.message();
}

// A complete case: stacks of four 84 x 84 pictures and the network for them.
TEST(Frames, TrainTheNetworkThatTheyAreFor) {
  RELEASE_ONLY("a network of images: smaller ones run the same code");
  Overrides few = large();
  for (const auto& [key, value] : {std::pair{"num_envs", "8"}, {"num_steps", "16"}}) {
    few.emplace_back(key, value);
  }
  const Config config = frames_config(few);
  const std::unique_ptr<Trainer> one = frames_trainer(config, 1), two = frames_trainer(config, 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one->iterate().ok());
    ASSERT_TRUE(two->iterate().ok());
  }
  EXPECT_TRUE(bytes_of(*one) == bytes_of(*two));
}

// One picture does not show the direction of the ball, which lands on one of two places.
double mean_return_with(const char* frames) {
  const Config config = frames_config({{"env.frame_stack", frames},
                                       {"env.marked", "false"},
                                       {"env.rows", "4"},
                                       {"max_episode_steps", "60"},
                                       {"num_envs", "64"},
                                       {"num_steps", "32"},
                                       {"num_minibatches", "4"},
                                       {"update_epochs", "4"},
                                       {"hidden_sizes", "64"},
                                       {"learning_rate", "3e-3"},
                                       {"hashes", "false"}});
  const std::unique_ptr<Trainer> trainer = frames_trainer(config, 2);
  while (!trainer->finished()) EXPECT_TRUE(trainer->iterate().ok());
  return trainer->report().mean_return;
}

// (Five seeds: 1.4 to 1.8 with one, 3.9 to 7.4 with two.)
TEST(Frames, ShowWhatOneDoesNot) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  const double one = mean_return_with("1"), two = mean_return_with("2");
  EXPECT_LT(one, 2.5);
  EXPECT_GT(two, 3.0);
}

}  // namespace
}  // namespace broadloom
