// A checkpoint and a run that resumes from it may differ only in keys that do not affect learning.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

// Another value for the key `algorithm`. It is never made.
Status other_algorithm() {
  AlgorithmEntry entry;
  entry.name = "another";
  entry.make = [](const AlgorithmSetup&) { return std::unique_ptr<Algorithm>(); };
  entry.bytes = [](const Config&, const ActorCritic&, const EnvSpec&, int) { return 0; };
  entry.declare_numbers = [](const InfoVisitor&) {};
  return register_algorithm(entry);
}

// Another value of the key.
std::string other_value(const FieldInfo& field) {
  if (field.name == "env_id") return "Acrobot-v1";
  if (field.type == "bool") return field.value_text == "true" ? "false" : "true";
  if (field.type == "list") return "16";
  if (field.name == "curriculum") return "a,b";
  if (field.type == ShapeSchedule::kTypeName) return "4x8 @ 0";
  if (field.name == "group_encoders") return "state:mlp/8";
  if (field.type == "names" && field.range_text.empty()) return "state";
  if (field.type == "choice" || field.type == "names") {
    const std::string first = field.range_text.substr(0, field.range_text.find(" | "));
    if (first != field.value_text) return first;
    return field.range_text.substr(field.range_text.rfind(" | ") + 3);
  }
  if (field.name == "adaptive_rate_min") return "0.005";
  if (field.range_text.starts_with("0 to 0.")) return "0.5";
  if (field.value_text != "1") return "1";
  return field.range_text == "0 to 1" ? "0.5" : "2";  // a share can be no 2
}

class CheckpointKeys : public InFolder {
 protected:
  void save_one(const std::string& lr_schedule) {
    const Result<Config> config = resolve_config({{"num_envs", "4"},
                                                  {"num_steps", "8"},
                                                  {"total_timesteps", "64"},
                                                  {"hidden_sizes", "8"},
                                                  {"lr_schedule", lr_schedule}});
    ASSERT_TRUE(config.ok()) << config.status().message();
    Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 1);
    ASSERT_TRUE(trainer.ok()) << trainer.status().message();
    trainer_ = trainer.take();
    ASSERT_TRUE(trainer_->iterate().ok());
    ASSERT_TRUE(save_checkpoint(at("checkpoint"), *trainer_, {}).ok());
  }

  // The status of a resume from a checkpoint that differs only in this value.
  Status goes_on_with(const std::string& key, const std::string& value) {
    Result<Checkpoint> checkpoint = read_checkpoint(at("checkpoint"));
    if (!checkpoint.ok()) return checkpoint.status();
    const Status set = set_config(checkpoint.value().config, key, value);
    if (!set.ok()) return set;
    return restore(checkpoint.value(), *trainer_);
  }

  std::unique_ptr<Trainer> trainer_;
};

TEST_F(CheckpointKeys, MayDifferWhereLearningDoesNot) {
  ASSERT_TRUE(other_algorithm().ok());
  save_one("constant");
  const std::set<Role> beside_learning{Role::kMeasure, Role::kRecord, Role::kMachine,
                                       Role::kBudget};
  for (const FieldInfo& field : list_fields(trainer_->config())) {
    const Status status = goes_on_with(field.name, other_value(field));
    if (beside_learning.contains(field.facts.role)) {
      EXPECT_TRUE(status.ok()) << status.message();
    } else {
      EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << field.name << ": " << status.message();
      EXPECT_NE(status.message().find("the checkpoint has " + field.name), std::string::npos)
          << status.message();
    }
  }
}

TEST_F(CheckpointKeys, TheBudgetMayNotDifferWhereTheScheduleFollowsIt) {
  save_one("linear");
  const Status status = goes_on_with("total_timesteps", "128");
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("total_timesteps = '128'"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace broadloom
