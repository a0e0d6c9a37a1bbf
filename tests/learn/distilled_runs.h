// Runs of students, and of their teachers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {

class DistilledRuns : public InFolder {
 protected:
  // A teacher of few steps.
  std::string teacher(const std::string& name, const Overrides& more = {}) {
    Overrides all{{"env_id", "CartPole-v1"},   {"num_envs", "8"},       {"num_steps", "32"},
                  {"total_timesteps", "1024"}, {"hidden_sizes", "8,8"}, {"norm_obs", "true"},
                  {"tensorboard", "false"}};
    start(name, resolved(add_overrides(all, more)));
    return at(name);
  }

  Overrides student_keys(const std::string& teacher, const Overrides& more = {}) const {
    return add_overrides({{"env_id", "CartPole-v1"},
                          {"algorithm", "distill"},
                          {"teacher", teacher},
                          {"num_envs", "20"},
                          {"num_steps", "12"},
                          {"gradient_length", "4"},
                          {"total_timesteps", "1440"},
                          {"hidden_sizes", "6,5"},
                          {"norm_obs", "true"},
                          {"checkpoint_interval", "2"},
                          {"keep_checkpoints", "0"},
                          {"tensorboard", "false"}},
                         more);
  }

  RunSummary start(const std::string& name, const Config& config, const RunHooks& hooks = {}) {
    const Result<RunSummary> run = start_run(config, at(name), 2, hooks);
    EXPECT_TRUE(run.ok()) << run.status().message();
    return run.ok() ? run.value() : RunSummary();
  }

  // The refusal of a run.
  std::string refusal(const Overrides& keys) {
    const Result<Config> config = resolve_config(keys);
    EXPECT_TRUE(config.ok()) << config.status().message();
    if (!config.ok()) return "";
    const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 1);
    EXPECT_FALSE(trainer.ok());
    return trainer.ok() ? "" : trainer.status().message();
  }
};

inline void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
  }
}

}  // namespace broadloom
