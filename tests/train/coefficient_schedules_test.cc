// clip_schedule and ent_schedule: coefficients that fall over a run.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/config/schedule.h"
#include "broadloom/record/files.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

Config coefficients_config(const Overrides& more) {
  Overrides all{{"num_envs", "9"},     {"num_steps", "16"},         {"total_timesteps", "1500"},
                {"hidden_sizes", "8"}, {"lr_schedule", "constant"}, {"learning_rate", "0.01"}};
  return resolved(add_overrides(all, more));
}

std::string param_bytes_of(const Trainer& trainer) {
  return {reinterpret_cast<const char*>(trainer.params()),
          trainer.network().parameter_count() * sizeof(float)};
}

// The first block uses the start value, and every later block a smaller one.
TEST(CoefficientSchedules, FallFromTheStartOn) {
  for (const char* key : {"clip_schedule", "ent_schedule"}) {
    const std::unique_ptr<Trainer> constant = trainer_of(coefficients_config({}));
    const std::unique_ptr<Trainer> linear = trainer_of(coefficients_config({{key, "linear"}}));
    ASSERT_TRUE(constant->iterate().ok());
    ASSERT_TRUE(linear->iterate().ok());
    EXPECT_EQ(param_bytes_of(*linear), param_bytes_of(*constant)) << key;
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(constant->iterate().ok());
      ASSERT_TRUE(linear->iterate().ok());
    }
    EXPECT_NE(param_bytes_of(*linear), param_bytes_of(*constant)) << key;
  }
}

// Each iteration has the result of a run with the constant value from the same state.
TEST(CoefficientSchedules, AreTheValueOfTheirProgress) {
  const Config config =
      coefficients_config({{"clip_schedule", "linear"}, {"ent_schedule", "linear"}});
  EXPECT_EQ(clip_schedule(config).at(0.5), 0.1);
  EXPECT_EQ(entropy_schedule(config).at(0.25), 0.0075);
  const std::unique_ptr<Trainer> linear = trainer_of(config);
  while (!linear->finished()) {
    const double progress = linear->clock().progress(config.trained_steps());
    Config fixed = config;
    fixed.clip_schedule = fixed.ent_schedule = "constant";
    fixed.clip_coef = clip_schedule(config).at(progress);
    fixed.ent_coef = entropy_schedule(config).at(progress);
    const std::unique_ptr<Trainer> constant = trainer_of(fixed);
    const std::vector<TensorRef> source = linear->state(), target = constant->state();
    for (std::size_t i = 0; i < target.size(); ++i) {
      std::memcpy(target[i].data, source[i].data, target[i].bytes());
    }
    ASSERT_TRUE(constant->state_restored().ok());
    ASSERT_TRUE(linear->iterate().ok());
    ASSERT_TRUE(constant->iterate().ok());
    ASSERT_EQ(param_bytes_of(*constant), param_bytes_of(*linear)) << linear->clock().iteration;
  }
}

TEST(CoefficientSchedules, StayWhereTheyCameToPastTheEnd) {
  const Schedule falling{0.2, 0.0};
  EXPECT_EQ(falling.at(1.0), 0.0);
  EXPECT_EQ(falling.at(3.0), 0.0);
  EXPECT_FALSE(ppo_settings(coefficients_config({})).clip_coef.has_value());
  EXPECT_FALSE(ppo_settings(coefficients_config({})).ent_coef.has_value());
}

class CoefficientFolder : public InFolder {};

// Without a clip range nothing more is learnt; without an entropy bonus, all the more.
TEST_F(CoefficientFolder, MakeARunThatCanBeLongerWhereItStillLearns) {
  ASSERT_TRUE(
      start_run(coefficients_config({{"clip_schedule", "linear"}}), at("clip"), 1, {}).ok());
  const Result<RunSummary> longer = resume_run(at("clip"), 1, {}, 9000);
  EXPECT_EQ(longer.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(longer.status().message().find("(clip_schedule = linear)"), std::string::npos)
      << longer.status().message();
  const Overrides entropy{{"ent_schedule", "linear"}};
  ASSERT_TRUE(start_run(coefficients_config(entropy), at("entropy"), 1, {}).ok());
  ASSERT_TRUE(resume_run(at("entropy"), 1, {}, 3000).ok());
  const Config whole = coefficients_config(
      add_overrides(entropy, {{"total_timesteps", "3000"}, {"schedule_timesteps", "1500"}}));
  ASSERT_TRUE(start_run(whole, at("whole"), 1, {}).ok());
  EXPECT_EQ(Json::parse(read_file(at("entropy") + "/ledger_line.json").take())["result"],
            Json::parse(read_file(at("whole") + "/ledger_line.json").take())["result"]);
}

}  // namespace
}  // namespace broadloom
