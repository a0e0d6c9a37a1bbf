// Simulators with limits: everything else works as usual, and limits are reported.
// sanitizers: address, threads
#include "tests/train/simulator_scene.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

std::string trained(const Config& config, int threads, bool whole) {
  Result<std::unique_ptr<VecEnv>> envs =
      make_vec_env(config.env_id, config.env_options, vec_env_options(config));
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  std::unique_ptr<VecEnv> given = envs.take();
  if (whole) given = std::make_unique<WholeBatch>(std::move(given), config.env_id);
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, threads, std::move(given));
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  trainer.value()->hold_threads(threads);
  for (int i = 0; i < 3; ++i) {
    const Status status = trainer.value()->iterate();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return bytes_of(*trainer.value());
}

struct LockstepCase {
  std::string env_id;
  Overrides overrides;
};

class Lockstep : public ::testing::TestWithParam<LockstepCase> {};

TEST_P(Lockstep, HasTheBitsOfGroups) {
  const Config config = simulated_config(GetParam().env_id, GetParam().overrides);
  const std::string groups = trained(config, 2, false);
  for (const int threads : {1, 2, 5}) EXPECT_EQ(trained(config, threads, true), groups) << threads;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Lockstep,
    ::testing::Values(
        LockstepCase{"CartPole-v1", {}}, LockstepCase{"CartPole-v1", {{"max_episode_steps", "5"}}},
        LockstepCase{"CartPole-v1", {{"shared_encoder", "true"}, {"max_episode_steps", "7"}}},
        LockstepCase{"Pendulum-v1",
                     {{"norm_obs", "true"}, {"norm_reward", "true"}, {"max_episode_steps", "6"}}},
        LockstepCase{"Pendulum-v1", {{"shared_encoder", "true"}, {"norm_obs", "true"}}},
        LockstepCase{"CartPole-v1",
                     {{"num_envs", "300"}, {"num_steps", "3"}, {"stagger_starts", "true"}}},
        LockstepCase{"CartPole-v1", {{"num_envs", "1"}, {"num_steps", "40"}}},
        LockstepCase{
            "CartPole-v1",
            {{"disturb.obs_noise", "0.1"}, {"disturb.action_delay", "2"}, {"norm_obs", "true"}}},
        LockstepCase{"Taxi-v3", {{"max_episode_steps", "9"}, {"hashes", "true"}}}));

TEST(WholeBatchEvaluation, PlaysWhatShardsPlay) {
  register_simulators();
  const std::unique_ptr<Trainer> plain = trainer_of(simulated_config("CartPole-v1"));
  const std::unique_ptr<Trainer> whole = trainer_of(simulated_config("Whole-v0"));
  for (const EvalActions actions : {EvalActions::kMostLikely, EvalActions::kSampled}) {
    EvalOptions options{150, 3, 2};
    options.actions = actions;
    const auto expected = play_episodes(plain->policy(), options);
    ASSERT_TRUE(expected.ok());
    for (const int threads : {1, 2, 5}) {
      options.threads = threads;
      const auto played = play_episodes(whole->policy(), options);
      ASSERT_TRUE(played.ok()) << played.status().message();
      for (std::size_t i = 0; i < 150; ++i) {
        EXPECT_EQ(played.value()[i].episode_return, expected.value()[i].episode_return);
        EXPECT_EQ(played.value()[i].length, expected.value()[i].length);
        EXPECT_EQ(played.value()[i].end, expected.value()[i].end);
      }
    }
  }
}

// Promises room for one truncation a block, and has more.
class Hasty final : public Simulator {
 public:
  Hasty(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {}
  int max_truncations(int) const override { return 1; }
};

TEST(Truncations, BeyondWhatTheSimulatorPromisedEndTheRun) {
  const Config config = resolve_config({{"env_id", "CartPole-v1"},
                                        {"num_envs", "5"},
                                        {"num_steps", "16"},
                                        {"hidden_sizes", "8"},
                                        {"max_episode_steps", "3"}})
                            .take();
  for (const int threads : {1, 3}) {
    std::unique_ptr<VecEnv> envs =
        make_vec_env(config.env_id, config.env_options, vec_env_options(config)).take();
    const auto trainer =
        Trainer::create(config, threads, std::make_unique<Hasty>(std::move(envs), config.env_id));
    ASSERT_TRUE(trainer.ok()) << trainer.status().message();
    const Status status = trainer.value()->iterate();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    for (const char* fact : {"environment 0 of CartPole-v1", "step 5", "max_truncations()"}) {
      EXPECT_NE(status.message().find(fact), std::string::npos) << status.message();
    }
  }
}

// An end of both kinds has no place among truncations, and its time limit is not to blame.
class EndsTwice final : public Simulator {
 public:
  EndsTwice(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {}
  int max_truncations(int) const override { return 1; }
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    for (int k = 0; k < end - begin; ++k) {
      if (rows.truncated[k] != 0) rows.terminated[k] = 1;
    }
    return {};
  }
};

TEST(Truncations, ThatAreTerminationsTooAreNamed) {
  const Config config = simulated_config("CartPole-v1", {{"max_episode_steps", "3"}});
  const auto trainer =
      trainer_on(config, std::make_unique<EndsTwice>(envs_of(config), config.env_id));
  const Status status = trainer->iterate();
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_NE(status.message().find("at its step 2: step() of CartPole-v1 terminated and truncated "
                                  "environment 0's episode at once"),
            std::string::npos)
      << status.message();
}

// The corrupted memory of a simulator that got a part of its environments shows no error.
TEST(Schedules, OfPartsAreRefusedBeforeASimulatorOfWholeBatchesIsMade) {
  static int most_made = 0;
  register_simulator("Parts-v0", [](auto inner) {
    most_made = std::max(most_made, inner->num_envs());
    return std::make_unique<WholeBatch>(std::move(inner), "Parts-v0");
  });
  const auto refused = [](const char* num_envs, const char* schedule) {
    return Trainer::create(simulated_config("Parts-v0", {{"num_envs", num_envs},
                                                         {"num_steps", "64"},
                                                         {"total_timesteps", "4096"},
                                                         {"shape_schedule", schedule},
                                                         {"stagger_starts", "true"}}),
                           1)
        .status();
  };
  const Status parts = refused("4", "4x64 @ 0, 16x16 @ 0.5");
  EXPECT_EQ(parts.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(parts.message().find("steps all of them at once"), std::string::npos)
      << parts.message();
  EXPECT_EQ(most_made, 1);  // the one that is described
  const Status whole = refused("8", "8x64 @ 0, 8x32 @ 0.5");
  EXPECT_TRUE(whole.ok()) << whole.message();
}

TEST_F(SimulatorRuns, WithoutFinalObservationsBootstrappingIsRefused) {
  const Config config = simulated_config("NoFinals-v0");
  for (const Status& refused :
       {make_contract(config, 1).status(), Trainer::create(config, 1).status()}) {
    EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(refused.message().find("expected as_termination, state_value or zero"),
              std::string::npos)
        << refused.message();
  }
  for (const std::string mode : {"as_termination", "state_value", "zero"}) {
    const Overrides keys{{"truncation_mode", mode}, {"max_episode_steps", "6"}};
    const std::unique_ptr<Trainer> without = trainer_of(simulated_config("NoFinals-v0", keys));
    const std::unique_ptr<Trainer> plain = trainer_of(simulated_config("CartPole-v1", keys));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(without->iterate().ok() && plain->iterate().ok());
    EXPECT_EQ(bytes_of(*without), bytes_of(*plain)) << mode;
  }
}

TEST_F(SimulatorRuns, VaryingSimulatorsAreRecordedAndComparedByStatistics) {
  const Config config = simulated_config("Varying-v0", kConstant);
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  EXPECT_EQ(read_manifest(at("run/manifest.json")).value().bits, "none");
  const std::string line = read_ledger_line(at("run/ledger_line.json"), 1).take();
  EXPECT_EQ(Json::parse(line)["machine"]["bits"], "none");
  const Result<RerunPlan> plan = plan_rerun(line);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Result<RerunReport> report = rerun(line, plan.value(), at("again"), 1, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().by_statistics);
  EXPECT_TRUE(report.value().agrees());
  bool statistic = false;
  for (const FieldComparison& field : report.value().fields) {
    EXPECT_NE(field.name, "result.parameters_hash");
    if (field.name != "evaluation.mean_return") continue;
    statistic = field.rule == FieldRule::kStatistic;
  }
  EXPECT_TRUE(statistic);
}

// Tests the comparison: different means and other settings do not agree.
TEST_F(SimulatorRuns, StatisticsStillTellRunsApart) {
  ASSERT_TRUE(start_run(simulated_config("Varying-v0", kConstant), at("run"), 1, {}).ok());
  const Json line = json("run/ledger_line.json");
  const auto agrees = [&](const Json& other) {
    RerunReport report;
    report.fields = compare_ledger_lines(line.dump(), other.dump());
    return report.agrees();
  };
  Json other = line;
  other["result"]["state_hash"] = std::string(32, '0');
  other["result"]["mean_return"] = 3.0;
  EXPECT_TRUE(agrees(other));
  other["evaluation"]["mean_return"] = 1e6;
  other["evaluation"]["ci_low"] = 1e6 - 1;
  other["evaluation"]["ci_high"] = 1e6 + 1;
  EXPECT_FALSE(agrees(other));
  other = line;
  other["config"]["gamma"] = "0.5";
  EXPECT_FALSE(agrees(other));
  other = line;
  other["result"]["global_step"] = 1;
  EXPECT_FALSE(agrees(other));
}

TEST_F(SimulatorRuns, TheContractSaysWhatASimulatorCannot) {
  const auto text = [](const std::string& id, const Overrides& keys) {
    const Result<RolloutContract> contract = make_contract(simulated_config(id, keys), 1);
    EXPECT_TRUE(contract.ok()) << contract.status().message();
    return contract_text(contract.value());
  };
  EXPECT_NE(text("Varying-v0", {}).find("Simulator: not deterministic"), std::string::npos);
  EXPECT_NE(text("Unsaved-v0", {}).find("Simulator: does not save its state: a resume begins new"),
            std::string::npos);
  EXPECT_NE(text("Lost-v0", {}).find("this run cannot be resumed"), std::string::npos);
  EXPECT_NE(text("NoFinals-v0", {{"truncation_mode", "zero"}}).find("no final observations"),
            std::string::npos);
  EXPECT_EQ(text("CartPole-v1", {}).find("Simulator:"), std::string::npos);
}

// Refused before the run prints anything, and by a study before its first run.
TEST_F(SimulatorRuns, LimitsOfASimulatorAreRefusedWithTheContract) {
  const auto refusal = [](const std::string& id, const Overrides& keys, int ranks) {
    const Status status = make_contract(simulated_config(id, keys), 1, ranks).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    return status.message();
  };
  EXPECT_NE(refusal("Whole-v0", {{"instruments", "policy"}}, 1).find("EnvMaker::another()"),
            std::string::npos);
  EXPECT_EQ(refusal("Whole-v0", {}, 2).find("got 2 ranks, but the environments of Whole-v0"), 0U);
  EXPECT_EQ(refusal("InStep-v0", {{"stagger_starts", "true"}}, 1), "all of them begin at once");
}

// CartPole-v1 with a spec that may change, as another installed version has another.
class Renewed final : public ForwardingVecEnv {
 public:
  explicit Renewed(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::move(inner)), spec_(now()) {}
  const EnvSpec& spec() const override { return spec_; }
  static EnvSpec& now() {
    static EnvSpec spec = env_spec("CartPole-v1", {}).take();
    return spec;
  }

 private:
  EnvSpec spec_;
};

TEST_F(SimulatorRuns, AnotherVersionIsNotedBesideAnotherEngine) {
  EnvSpec& spec = Renewed::now();
  spec.id = "Renewed-v0";
  spec.upstream = "MySim 2.1";
  spec.engine = "MyEngine 3";
  SimulatorWithOptions simulator;
  simulator.spec = [](const Overrides&) { return Result<EnvSpec>(Renewed::now()); };
  simulator.make = [](const Overrides&,
                      const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    Result<std::unique_ptr<VecEnv>> inner = make_vec_env("CartPole-v1", {}, options);
    if (!inner.ok()) return inner;
    return std::unique_ptr<VecEnv>(std::make_unique<Renewed>(inner.take()));
  };
  simulator.options = [] { return std::vector<FieldInfo>(); };
  ASSERT_TRUE(register_environment(simulator_entry(spec.id, simulator)).ok());
  const Config config = simulated_config(spec.id, kConstant);
  ASSERT_TRUE(start_run(config, at("run"), 1, stop_after(3)).ok());
  spec.upstream = "MySim 2.2";
  spec.engine = "MyEngine 4";
  spec.observation.high[0] += 1.0f;
  std::vector<std::string> notes;
  RunHooks hooks = stop_after(5);
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  const Status resumed = resume_run(at("run"), 1, hooks).status();
  ASSERT_TRUE(resumed.ok()) << resumed.message();
  ASSERT_EQ(notes.size(), 3u) << fmt::format("{}", fmt::join(notes, "\n"));
  EXPECT_NE(notes[0].find("is stepped by 'MyEngine 4', but was stepped by 'MyEngine 3'"),
            std::string::npos);
  EXPECT_NE(notes[1].find("from 'MySim 2.2' now, and came from 'MySim 2.1'"), std::string::npos);
  EXPECT_NE(notes[2].find("observations of Renewed-v0 have"), std::string::npos);
  spec.upstream = "YourSim 2.2";
  const Status refused = resume_run(at("run"), 1, {}).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kMismatch);
  EXPECT_NE(refused.message().find("got 'YourSim 2.2', expected 'MySim 2.2'"), std::string::npos)
      << refused.message();
}

}  // namespace
}  // namespace broadloom
