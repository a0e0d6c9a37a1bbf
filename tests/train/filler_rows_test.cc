// Rows that are not transitions have no effect.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/lab/frozen.h"
#include "tests/env/next_step.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config filler_config(const std::string& env_id, const Overrides& overrides = {}) {
  Overrides all{{"env_id", env_id},       {"num_envs", "21"},        {"num_steps", "13"},
                {"num_minibatches", "3"}, {"update_epochs", "2"},    {"total_timesteps", "1638"},
                {"hidden_sizes", "16,8"}, {"max_episode_steps", "9"}};
  return resolved(add_overrides(all, overrides));
}

std::unique_ptr<Trainer> filler_trainer(const Config& config, int threads, bool garbage = false) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(
      config, threads, std::make_unique<NextStep>(envs_of(config), config.env_id, false, garbage));
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  trainer.value()->hold_threads(threads);
  return trainer.take();
}

// All state and reports, without the environments.
std::string learnt_text(Trainer& trainer) {
  std::string bytes;
  for (const TensorRef& tensor : trainer.state()) {
    bytes += tensor.name;
    bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  visit_numbers(trainer.report(), [&](const NumberInfo& info, double value) {
    bytes += info.name + std::to_string(value);
  });
  return bytes;
}

struct FillerCase {
  std::string env_id;
  Overrides overrides;
};

class FillerRows : public ::testing::TestWithParam<FillerCase> {};

// Observations of these rows have no effect, with any number of threads.
TEST_P(FillerRows, MayHoldAnything) {
  const Config config = filler_config(GetParam().env_id, GetParam().overrides);
  const std::unique_ptr<Trainer> plain = filler_trainer(config, 2);
  std::vector<std::unique_ptr<Trainer>> others;
  for (const int threads : {1, 5}) others.push_back(filler_trainer(config, threads, true));
  double transitions = 0.0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(plain->iterate().ok());
    EXPECT_GT(*plain->report().filler_rows, 0);
    transitions += static_cast<double>(plain->block().transitions());
    for (const auto& other : others) {
      const Status status = other->iterate();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(learnt_text(*plain), learnt_text(*other)) << i;
    }
  }
  // Counts each transition once, plus the initial fraction.
  if (plain->obs_normalizer() != nullptr)
    EXPECT_NEAR(plain->obs_normalizer()->statistics().count(), transitions, 1e-3);
  if (plain->reward_normalizer() != nullptr)
    EXPECT_NEAR(plain->reward_normalizer()->statistics().count(), transitions, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, FillerRows,
    ::testing::Values(
        FillerCase{"CartPole-v1", {}}, FillerCase{"CartPole-v1", {{"norm_adv", "batch"}}},
        FillerCase{"CartPole-v1",
                   {{"shared_encoder", "true"}, {"num_minibatches", "200"}, {"norm_adv", "off"}}},
        FillerCase{"Pendulum-v1", {{"norm_obs", "true"}, {"norm_reward", "true"}}},
        FillerCase{"Pendulum-v1", {{"max_episode_steps", "1"}, {"norm_obs", "true"}}},
        FillerCase{"CartPole-v1", {{"algorithm", "pqn"}, {"norm_obs", "true"}}}));

// The transitions equal those of an environment with same-step reset under the same actions.
TEST(FillerRows, TheOthersAreTheTransitionsOfEnvironmentsThatAreResetAtOnce) {
  const Config config = filler_config("CartPole-v1", {{"norm_obs", "true"}});
  const std::unique_ptr<Trainer> trainer = filler_trainer(config, 1);
  const std::unique_ptr<VecEnv> replayed = envs_of(config);
  std::size_t transitions = 0;
  std::int64_t ends = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(trainer->iterate().ok());
    const RolloutBlock& block = trainer->block();
    for (int n = 0; n < block.N; ++n) {
      for (int t = 0; t < block.T; ++t) {
        const std::size_t row = block.index(t, n);
        const bool ended = (block.terminated[row] | block.truncated[row]) != 0;
        if (t + 1 < block.T) EXPECT_EQ(block.is_filler(row + block.N), ended);
        if (block.is_filler(row)) {
          EXPECT_EQ(block.rewards[row], 0.0f);
          EXPECT_FALSE(ended);
          continue;
        }
        float reward = 0.0f;
        std::uint8_t terminated = 0, truncated = 0;
        std::vector<float> seen(block.D), last(block.D);
        ASSERT_TRUE(replayed
                        ->step(n, n + 1,
                               {&block.actions[row * block.A], seen.data(), &reward, &terminated,
                                &truncated, last.data()})
                        .ok());
        EXPECT_EQ(block.rewards[row], reward);
        EXPECT_EQ(block.terminated[row], terminated);
        EXPECT_EQ(block.truncated[row], truncated);
        ++transitions;
        ends += ended;
      }
    }
    EXPECT_EQ(*trainer->report().filler_rows,
              static_cast<std::int64_t>(block.size() - block.transitions()));
  }
  EXPECT_NEAR(trainer->obs_normalizer()->statistics().count(), static_cast<double>(transitions),
              1e-3);
  EXPECT_EQ(trainer->episodes(), ends);
  EXPECT_LE(trainer->report().mean_length, 9.0);
  EXPECT_EQ(trainer->report().mean_length, trainer->report().mean_return);  // as CartPole has it
}

// A delayed action at an episode's first transition is not from before the episode.
TEST(FillerRows, AreNoPartOfDelaysAndPushes) {
  const Config config = filler_config("CartPole-v1");
  Disturbance disturbance;
  disturbance.action_delay = 2;
  disturbance.push_interval = 3.0;
  const auto made = [&](bool garbage) {
    auto envs = std::make_unique<NextStep>(envs_of(config), config.env_id, false, garbage);
    return Trainer::create(config, 1,
                           disturb(std::move(envs), disturbance, vec_env_options(config)))
        .take();
  };
  const std::unique_ptr<Trainer> plain = made(false), other = made(true);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(plain->iterate().ok());
    ASSERT_TRUE(other->iterate().ok());
    EXPECT_EQ(learnt_text(*plain), learnt_text(*other)) << i;
  }
}

void register_fillers() {
  static const bool once = [] {
    for (const bool saves : {false, true}) {
      const std::string id = saves ? "SavedNextStep-v0" : "NextStep-v0";
      register_simulator(
          id, [=](auto inner) { return std::make_unique<NextStep>(std::move(inner), id, saves); });
    }
    return true;
  }();
  ASSERT_TRUE(once);
}

class FillerRuns : public InFolder {
 protected:
  FillerRuns() { register_fillers(); }
};

TEST_F(FillerRuns, AreResumedToTheBit) {
  const Config config = filler_config("SavedNextStep-v0", {{"lr_schedule", "constant"}});
  ASSERT_TRUE(start_run(config, at("whole"), 1, {}).ok());
  bool stop = false;
  RunHooks hooks;
  hooks.on_iteration = [&](const Progress& now) { stop = now.iteration == 3; };
  hooks.should_stop = [&] { return stop; };
  ASSERT_TRUE(start_run(config, at("run"), 2, hooks).ok());
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  const auto result = [&](const std::string& run) {
    return nlohmann::json::parse(read_file(at(run + "/ledger_line.json")).take())["result"];
  };
  EXPECT_EQ(result("run"), result("whole"));
  EXPECT_TRUE(read_manifest(at("run/manifest.json")).value().simulator.filler_rows);
}

TEST_F(FillerRuns, TheContractSaysSo) {
  const Result<RolloutContract> contract = make_contract(filler_config("NextStep-v0"), 1);
  ASSERT_TRUE(contract.ok());
  EXPECT_NE(contract_text(contract.value()).find("takes a step to begin an episode"),
            std::string::npos);
}

TEST_F(FillerRuns, ReadersThatTakeThemForTransitionsAreRefused) {
  for (const auto& [keys, word] : std::vector<std::pair<Overrides, std::string>>{
           {{{"instruments", "gradient,audit"}},
            "instruments read every row of a block (gradient, audit)"},
           {{{"algorithm", "ppo_rnd"}}, "algorithm: got ppo_rnd"},
           {{{"num_steps", "1"}}, "num_steps: got 1"}}) {
    const Status refused = make_contract(filler_config("NextStep-v0", keys), 1).status();
    EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig) << word;
    EXPECT_NE(refused.message().find(word), std::string::npos) << refused.message();
  }
  ThreadPool pool(1);
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(filler_config("NextStep-v0"), 1);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  BlockSource source(trainer.value()->policy(), nullptr, 3, pool);
  const Status refused = source.collect({4, 8}, 1, 0).status();
  EXPECT_NE(refused.message().find("takes a step to begin an episode"), std::string::npos)
      << refused.message();
}

TEST_F(FillerRuns, KeepToTheContractOfEnvironments) {
  const ConformanceReport report = check_vec_env(
      [](const VecEnvOptions& options) { return make_vec_env("SavedNextStep-v0", {}, options); },
      {});
  for (const std::string& finding : report.findings()) ADD_FAILURE() << finding;
}

}  // namespace
}  // namespace broadloom
