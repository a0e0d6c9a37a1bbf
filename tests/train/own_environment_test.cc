// Custom environments in the trainer: registered, and passed to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "examples/own_env/hover.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

Config hover_config(const std::string& id) {
  Config config = default_config(env_spec(id, {}).value());
  config.num_envs = 8;
  config.num_steps = 16;
  config.total_timesteps = 4 * config.batch_size();
  return config;
}

std::string refusal(const Config& config, std::unique_ptr<VecEnv> envs) {
  const Result<std::unique_ptr<Trainer>> made = Trainer::create(config, 1, std::move(envs));
  EXPECT_EQ(made.status().kind(), ErrorKind::kInvalidConfig);
  return made.status().message();
}

TEST(GivenEnvironments, MustBeThere) {
  EXPECT_EQ(refusal(Config{}, nullptr), "got no environments (null); give num_envs of them");
}

// An evaluation finds environments by env_id: with the default one it would play CartPole.
TEST(GivenEnvironments, MustBeThoseOfTheConfiguration) {
  ASSERT_TRUE(register_environment<Hover>("Given-v0").ok());
  Config config = hover_config("Given-v0");
  const auto envs = [&](int count) {
    return make_vec_env("Given-v0", {}, {.num_envs = count}).take();
  };
  const std::string number = refusal(config, envs(3));
  for (const char* fact : {"got 3 environments", "num_envs is 8"}) {
    EXPECT_NE(number.find(fact), std::string::npos) << number;
  }
  config.env_id = "CartPole-v1";
  const std::string message = refusal(config, envs(8));
  for (const char* fact : {"'Given-v0'", "env_id is 'CartPole-v1'"}) {
    EXPECT_NE(message.find(fact), std::string::npos) << message;
  }
}

// Passed or registered, environments give the same training and evaluation.
TEST(GivenEnvironments, AreTrainedOnAsThoseMadeByName) {
  ASSERT_TRUE(register_environment<Hover>("Named-v0").ok());
  const Config config = hover_config("Named-v0");
  const auto by_name = Trainer::create(config, 1).take();
  const auto given =
      Trainer::create(config, 1, make_vec_env("Named-v0", {}, vec_env_options(config)).take())
          .take();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(by_name->iterate().ok() && given->iterate().ok());
  const auto played = [](const Trainer& trainer) {
    return evaluate_policy(trainer.policy(), {.episodes = 5}).value().mean_return;
  };
  EXPECT_NE(played(*by_name), 0.0);
  EXPECT_EQ(played(*by_name), played(*given));
}

class OwnEnvironment : public InFolder {};

TEST_F(OwnEnvironment, GoesOnFromACheckpoint) {
  ASSERT_TRUE(register_environment<Hover>("Saved-v0").ok());
  const Config config = hover_config("Saved-v0");
  const auto whole = Trainer::create(config, 1).take();
  const auto resumed = Trainer::create(config, 1).take();
  const std::string path = at("two.safetensors");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(whole->iterate().ok());
  ASSERT_TRUE(save_checkpoint(path, *whole, {}).ok());
  const Result<Checkpoint> checkpoint = read_checkpoint(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  ASSERT_TRUE(restore(checkpoint.value(), *resumed).ok());
  ASSERT_TRUE(whole->iterate().ok() && resumed->iterate().ok());
  EXPECT_EQ(whole->report().mean_return, resumed->report().mean_return);
  const std::int64_t count = whole->network().parameter_count();
  EXPECT_TRUE(std::equal(whole->params(), whole->params() + count, resumed->params()));
}

}  // namespace
}  // namespace broadloom
