// An algorithm that is registered outside the library works with everything that takes a run.
// sanitizers: address, threads
#include "tests/learn/a2c.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/run_numbers.h"
#include "broadloom/train/started_run.h"
#include "tests/learn/trained.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

void register_once() {
  static const Status status = register_algorithm(A2c::entry());
  ASSERT_TRUE(status.ok()) << status.message();
}

Config config_with(const Overrides& overrides) {
  Overrides all{{"algorithm", "a2c"}, {"env_id", "CartPole-v1"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  Result<Config> config = resolve_config(all);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

Overrides small(const Overrides& more = {}) {
  Overrides all{{"num_envs", "37"},          {"num_steps", "13"},  {"hidden_sizes", "16,8"},
                {"total_timesteps", "5000"}, {"norm_obs", "true"}, {"seed", "7"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string trained(const Overrides& overrides, int threads) {
  return state_after_training(config_with(overrides), threads);
}

class A2cRuns : public InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    register_once();
  }
};

// Random play has a return of 22; the maximum is 500.
TEST_F(A2cRuns, LearnCartPole) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  for (const char* seed : {"1", "2", "3"}) {
    std::unique_ptr<Trainer> trainer = Trainer::create(config_with({{"seed", seed},
                                                                    {"num_envs", "8"},
                                                                    {"num_steps", "8"},
                                                                    {"total_timesteps", "500000"},
                                                                    {"learning_rate", "0.001"},
                                                                    {"ent_coef", "0"}}),
                                                       2)
                                           .take();
    while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
    const Result<EvalResult> played = evaluate_policy(trainer->policy(), {50, 11, 2});
    ASSERT_TRUE(played.ok()) << played.status().message();
    EXPECT_GE(played.value().mean_return, 475.0) << "seed " << seed;
  }
}

TEST_F(A2cRuns, HaveTheSameBitsForAnyThreadsAndInstruments) {
  for (const char* shared : {"false", "true"}) {
    const std::string expected = trained(small({{"shared_encoder", shared}}), 1);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(trained(small({{"shared_encoder", shared}}), threads), expected) << threads;
    }
    EXPECT_EQ(trained(small({{"shared_encoder", shared},
                             {"instruments", "gradient,plasticity,policy,coverage,audit"},
                             {"instrument_every", "2"}}),
                      2),
              expected);
  }
}

TEST_F(A2cRuns, AreOneStepABlock) {
  std::unique_ptr<Trainer> trainer =
      Trainer::create(config_with(small({{"instruments", "gradient"}, {"instrument_every", "1"}})),
                      2)
          .take();
  ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_EQ(trainer->report().epochs, 1);
  std::vector<std::string> names;
  for (const UpdateNumber& number : trainer->report().update) names.push_back(number.info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"policy_loss", "value_loss", "entropy", "grad_norm",
                                             "mean_advantage"}));
  // It has no ratios, so numbers derived from them are NaN.
  std::map<std::string, double> measured;
  trainer->instruments().visit_numbers(
      [&](const NumberInfo& info, double value) { measured[info.name] = value; });
  EXPECT_NEAR(measured.at("grad/last_epoch_cosine"), 1.0, 1e-6);
  for (const char* name :
       {"grad/last_epoch_ess", "grad/last_epoch_kl_k3", "grad/last_epoch_min_ratio"}) {
    EXPECT_TRUE(std::isnan(measured.at(name))) << name << " " << measured.at(name);
  }
}

TEST_F(A2cRuns, AreRecordedResumedAndRunAgain) {
  const Config config =
      config_with(small({{"checkpoint_interval", "3"}, {"lr_schedule", "linear"}}));
  ASSERT_TRUE(start_run(config, at("whole"), 2, {}).ok());
  int left = 4;
  RunHooks stop;
  stop.should_stop = [&] { return --left == 0; };
  const Result<RunSummary> stopped = start_run(config, at("stopped"), 2, stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  ASSERT_FALSE(stopped.value().finished);
  ASSERT_TRUE(resume_run(at("stopped"), 1, {}).ok());
  const auto line = [&](const std::string& run) {
    return read_ledger_line(at(run) + "/ledger_line.json", 1).take();
  };
  const Json whole = Json::parse(line("whole"));
  EXPECT_EQ(whole["config"]["algorithm"].text(), "a2c");
  EXPECT_EQ(whole["result"]["parameters_hash"].text(),
            Json::parse(line("stopped"))["result"]["parameters_hash"].text());
  const std::string metrics = read_file(at("whole") + "/metrics.jsonl").take();
  EXPECT_NE(metrics.find("\"mean_advantage\":"), std::string::npos);
  EXPECT_EQ(metrics.find("\"clipfrac\":"), std::string::npos);
  const Result<RerunReport> again =
      rerun(line("whole"), plan_rerun(line("whole")).take(), at("again"), 2, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.value().agrees());
}

TEST_F(A2cRuns, RefuseWhatItCannotDo) {
  const Result<std::unique_ptr<Trainer>> box =
      Trainer::create(config_with({{"env_id", "Pendulum-v1"}}), 1);
  ASSERT_FALSE(box.ok());
  EXPECT_EQ(box.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(box.status().message().find("expected Discrete"), std::string::npos);
}

// An algorithm that counts its blocks: a change of shape would set the count to 0.
class CountingA2c final : public A2c {
 public:
  using A2c::A2c;
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    out.push_back({prefix + ".blocks", dtype_of<std::int64_t>(), {1}, &blocks_});
  }

 private:
  std::int64_t blocks_ = 0;
};

TEST_F(A2cRuns, RefuseOtherShapesWhereTheyHaveStateOfTheirOwn) {
  AlgorithmEntry entry = A2c::entry();
  entry.name = "counting_a2c";
  entry.make = [](const AlgorithmSetup& setup) { return std::make_unique<CountingA2c>(setup); };
  static const Status status = register_algorithm(entry);
  ASSERT_TRUE(status.ok()) << status.message();
  const Overrides shapes = small({{"shape_schedule", "37x13 @ 0, 13x37 @ 0.5"}});
  EXPECT_TRUE(Trainer::create(config_with(shapes), 1).ok());
  Overrides counting = shapes;
  counting.emplace_back("algorithm", "counting_a2c");
  const auto refused = Trainer::create(config_with(counting), 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("algorithm.blocks"), std::string::npos)
      << refused.status().message();
  EXPECT_TRUE(Trainer::create(config_with(small({{"algorithm", "counting_a2c"}})), 1).ok());
}

// In a longer run, a value that falls by the algorithm's own account stays at its end.
TEST_F(A2cRuns, MadeLongerSayOverWhichStepsSomethingFalls) {
  AlgorithmEntry entry = A2c::entry();
  entry.name = "falling_a2c";
  entry.falls = [](const Config&) { return FallingValue{"patience", "patience = linear"}; };
  static const Status status = register_algorithm(entry);
  ASSERT_TRUE(status.ok()) << status.message();
  // A2C has no use for clip_schedule.
  EXPECT_FALSE(depends_on_total(
      config_with(small({{"clip_schedule", "linear"}, {"lr_schedule", "constant"}}))));
  const Config config =
      config_with(small({{"algorithm", "falling_a2c"}, {"lr_schedule", "constant"}}));
  EXPECT_TRUE(depends_on_total(config));
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  std::vector<std::string> notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(resume_run(at("run"), 1, hooks, 10000).ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("patience"), std::string::npos) << notes[0];
  EXPECT_FALSE(depends_on_total(open_started_run(at("run")).take().config));
}

TEST_F(A2cRuns, DeclareTheirNumbersOnce) {
  int losses = 0, own = 0;
  for (const NumberInfo& info : declared_numbers()) {
    losses += std::string(info.name) == "policy_loss";
    own += std::string(info.name) == "mean_advantage";
  }
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(own, 1);
}

TEST(Algorithms, MissingOrEmptyAreRefused) {
  const Result<Config> unknown = resolve_config({{"algorithm", "poo"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("ppo"), std::string::npos)
      << unknown.status().message();
  register_once();
  EXPECT_FALSE(register_algorithm(A2c::entry()).ok());  // taken
  AlgorithmEntry entry = A2c::entry();
  entry.name = "A 2 C";
  EXPECT_FALSE(register_algorithm(entry).ok());
  entry.name = "a3c";
  entry.make = nullptr;
  EXPECT_FALSE(register_algorithm(entry).ok());
  entry = A2c::entry();
  entry.name = "sarsa";
  entry.learns_action_values = true;  // and no word of how it acts on them
  EXPECT_NE(register_algorithm(entry).message().find("make_actor"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
