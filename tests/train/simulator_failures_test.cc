// Simulators that fail: each exception, end and number that is not finite is named.
// sanitizers: address, threads
#include "tests/train/simulator_scene.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/ledger.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/first_starts.h"
#include "research/lab/frozen.h"

namespace broadloom {
namespace {

TEST_F(SimulatorRuns, ExceptionsAndErrorsWithoutWordsNameTheirSimulator) {
  for (const bool whole : {false, true}) {
    for (const bool throws : {false, true}) {
      const std::string id = fmt::format("Throws{}{}-v0", whole, throws);
      register_simulator(id, [=](auto inner) {
        return std::make_unique<Throwing>(std::move(inner), id, 57, whole, throws);
      });
      const std::string words =
          throws ? " threw an exception, expected a Status: socket closed" : " failed without a";
      for (const int threads : {1, 2}) {
        const std::string name = id + std::to_string(threads);
        const Status failed =
            start_run(simulated_config(id, kConstant), at(name), threads, {}).status();
        EXPECT_EQ(failed.kind(), ErrorKind::kIo);
        EXPECT_NE(failed.message().find("failed at its step 56: step() of " + id + words),
                  std::string::npos)
            << failed.message();
      }
    }
  }
}

TEST_F(SimulatorRuns, ExceptionsOfEveryFunctionNameTheirSimulator) {
  const std::pair<const char*, int> cases[] = {
      {"observe", 0}, {"observe", 7},       {"append_state", 0}, {"append_state", 3},
      {"another", 0}, {"valid_actions", 0}, {"valid_actions", 7}};
  for (const auto& [function, calls] : cases) {
    for (const bool whole : {false, true}) {
      const std::string id = fmt::format("Elsewhere_{}{}{}-v0", function, calls, whole);
      const auto wrap = [=, name = std::string(function), calls = calls](auto inner) {
        return std::make_unique<ThrowingElsewhere>(std::move(inner), id, name, calls, whole);
      };
      register_simulator(id, wrap, std::string(function) == "valid_actions");
      Overrides keys = kConstant;
      if (calls == 0 && std::string(function) == "another") {
        keys.emplace_back("instruments", "policy");
      }
      for (const int threads : {1, 2}) {
        const Status failed =
            start_run(simulated_config(id, keys), at(id + std::to_string(threads)), threads, {})
                .status();
        EXPECT_EQ(failed.kind(), ErrorKind::kIo) << id;
        const std::string words = fmt::format(
            "{}() of {} threw an exception, expected none: socket closed", function, id);
        EXPECT_NE(failed.message().find(words), std::string::npos) << failed.message();
      }
    }
  }
}

// An audit of logs alone observes the first states of episodes and nothing else.
TEST_F(SimulatorRuns, ExceptionsInAnAuditNameTheirSimulator) {
  static bool healthy = true;
  const Overrides keys = add_overrides(kConstant, {{"instruments", "audit"}});
  for (const bool whole : {false, true}) {
    const std::string id = fmt::format("Audited{}-v0", whole);
    register_simulator(id, [=](auto inner) {
      const int calls = healthy ? 1'000'000 : 0;
      return std::make_unique<ThrowingElsewhere>(std::move(inner), id, "observe", calls, whole);
    });
    healthy = true;
    ASSERT_TRUE(start_run(simulated_config(id, keys), at(id), 1, {}).ok());
    EXPECT_TRUE(audit_logs(at(id)).ok());
    healthy = false;
    const Status failed = audit_logs(at(id)).status();
    EXPECT_EQ(failed.kind(), ErrorKind::kIo);
    EXPECT_NE(
        failed.message().find("observe() of " + id + " threw an exception, expected none: socket"),
        std::string::npos)
        << failed.message();
  }
}

class ThrowingWaves final : public Simulator, public EpisodeWaves {
 public:
  explicit ThrowingWaves(std::unique_ptr<VecEnv> inner)
      : Simulator(std::move(inner), "Waves-v0", {.whole_batch = true}) {}
  Status begin_wave(int) override { throw std::runtime_error("socket closed"); }
};

TEST(FirstStarts, NameASimulatorThatThrowsAtItsSecondWave) {
  register_simulator("Waves-v0",
                     [](auto inner) { return std::make_unique<ThrowingWaves>(std::move(inner)); });
  VecEnvOptions options;
  options.num_envs = 4;
  EXPECT_TRUE(first_starts("Waves-v0", {}, options, 4).ok());
  options.num_envs = 5;
  options.streams = StreamSet::kEvaluation;
  const Status failed = first_starts("Waves-v0", {}, options, 4).status();
  EXPECT_EQ(failed.kind(), ErrorKind::kIo);
  EXPECT_EQ(failed.message(),
            "begin_wave() of Waves-v0 threw an exception, expected a Status: socket closed");
}

TEST(Factories, MayThrow) {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  spec.id = "NoLicence-v0";
  const auto make = [](const VecEnvOptions&) -> Result<std::unique_ptr<VecEnv>> {
    throw std::runtime_error("no licence");
  };
  ASSERT_TRUE(register_environment(simulator_entry(spec, make)).ok());
  const Status failed = make_vec_env("NoLicence-v0", {}, {}).status();
  EXPECT_EQ(failed.kind(), ErrorKind::kIo);
  EXPECT_EQ(failed.message(),
            "make() of NoLicence-v0 threw an exception, expected a Status: no licence");
}

// Other ends would count as another outcome, or be read beyond a list.
TEST(Ends, ThatAreNoOutcomeEndAnEvaluation) {
  const std::pair<Ending::Change, const char*> cases[] = {
      {nullptr, "gave no reason for the end of environment"},
      {[](EpisodeEnd& end) { end.reason = 100; }, "gave reason 100 for the end of environment"},
      {[](EpisodeEnd& end) { end.reason = 1 - end.reason; }, "for the end of environment"},
      {[](EpisodeEnd& end) { end.stratum = 900; }, "gave stratum 900 for the end of environment"},
      {[](EpisodeEnd& end) { end.success = 7; }, "gave success 7 for the end of environment"}};
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const auto& [change, words] = cases[i];
    const std::string id = fmt::format("Ends{}-v0", i);
    register_simulator(id, [id, change = change](auto inner) {
      return std::make_unique<Ending>(std::move(inner), id, change);
    });
    const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config(id));
    for (const int threads : {1, 2}) {
      const Status status = evaluate_policy(trainer->policy(), {80, 1, threads}).status();
      EXPECT_EQ(status.kind(), ErrorKind::kIo);
      EXPECT_NE(status.message().find("step() of " + id), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    }
  }
}

TEST_F(SimulatorRuns, AFailedStepEndsTheRunAndTheNextResumeGoesOn) {
  static bool healthy = false;
  for (const bool whole : {false, true}) {
    const std::string id = whole ? "FailingWhole-v0" : "Failing-v0";
    register_simulator(id, [=](auto inner) {
      // Steps of environment 0: 13 an iteration, so in the fifth iteration.
      return std::make_unique<Failing>(std::move(inner), id, healthy ? 0 : 57, whole);
    });
    Overrides overrides = kConstant;
    overrides.insert(overrides.end(), {{"checkpoint_interval", "2"}, {"eval_interval", "0"}});
    healthy = true;
    ASSERT_TRUE(start_run(simulated_config(id, overrides), at(id + "_whole"), 1, {}).ok());
    healthy = false;
    for (const int threads : {1, 2, 5}) {
      const std::string name = id + std::to_string(threads);
      const Status failed =
          start_run(simulated_config(id, overrides), at(name), threads, {}).status();
      EXPECT_EQ(failed.kind(), ErrorKind::kIo);
      EXPECT_NE(failed.message().find("the simulator failed at its step 56: worker 3 has died"),
                std::string::npos)
          << failed.message();
      EXPECT_NE(failed.message().find("stays saved, and a resume continues from its step 1,924"),
                std::string::npos)
          << failed.message();
      healthy = true;
      const Result<RunSummary> resumed = resume_run(at(name), threads, {});
      healthy = false;
      ASSERT_TRUE(resumed.ok()) << resumed.status().message();
      EXPECT_EQ(json(name + "/ledger_line.json")["result"],
                json(id + "_whole/ledger_line.json")["result"]);
    }
  }
}

TEST_F(SimulatorRuns, AFailedStepEndsAnEvaluation) {
  for (const bool whole : {false, true}) {
    const std::string id = whole ? "DyingWhole-v0" : "Dying-v0";
    register_simulator(
        id, [=](auto inner) { return std::make_unique<Failing>(std::move(inner), id, 4, whole); });
    const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config(id));
    const Status failed = evaluate_policy(trainer->policy(), {80, 1, 2}).status();
    EXPECT_EQ(failed.kind(), ErrorKind::kIo);
    EXPECT_NE(failed.message().find("at step 3 of the episodes: worker 3 has died"),
              std::string::npos)
        << failed.message();
  }
}

using What = NotFinite::What;

std::string register_not_finite(const std::vector<NotFinite::Place>& places, bool whole = false) {
  static int count = 0;
  const std::string id = "NotFinite" + std::to_string(count++) + "-v0";
  register_simulator(id, [=](auto inner) {
    return std::make_unique<NotFinite>(std::move(inner), id, places, whole);
  });
  return id;
}

void expect_not_finite(const Status& status, const std::string& words) {
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

struct NotFiniteCase {
  std::vector<NotFinite::Place> places;
  std::string words;  // "": nothing is wrong
};

TEST(NonFiniteNumbers, EndAnEvaluationForAnyNumberOfThreads) {
  const std::vector<NotFiniteCase> cases{
      {{{70, 4, What::kReward}}, "reward of episode 70 is not finite at its step 4"},
      {{{70, 4, What::kObservation}}, "observation of episode 70 is not finite at its step 5"},
      {{{3, 4, What::kReward}, {70, 2, What::kReward}},
       "reward of episode 70 is not finite at its step 2"},
      {{{3, 2, What::kReward}, {70, 1, What::kObservation}},
       "observation of episode 70 is not finite at its step 2"},
      {{{4, 5, What::kLast}}, "last observation of episode 4 is not finite at its step 5"},
      {{{4, 9, What::kReward}, {70, 9, What::kObservation}}, ""}};  // those episodes are over
  for (const auto& [places, words] : cases) {
    for (const bool whole : {false, true}) {
      const std::string id = register_not_finite(places, whole);
      const std::unique_ptr<Trainer> trainer =
          trainer_of(simulated_config(id, {{"max_episode_steps", "6"}}));
      for (const int threads : {1, 2, 5}) {
        const Status status = evaluate_policy(trainer->policy(), {80, 1, threads}).status();
        if (words.empty()) EXPECT_TRUE(status.ok()) << status.message();
        if (!words.empty()) expect_not_finite(status, id + ": " + words);
      }
    }
  }
}

// A truncated episode has a final observation, which `export` and `watch` use.
TEST(NonFiniteNumbers, AreFoundWhereAnEpisodeIsCut) {
  for (const bool whole : {false, true}) {
    const std::string id = register_not_finite({{70, 2, What::kObservation}}, whole);
    const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config(id));
    EvalOptions options{80, 1, 2};
    options.longest_episode = 3;
    expect_not_finite(evaluate_policy(trainer->policy(), options).status(),
                      "observation of episode 70 is not finite at its step 3");
  }
}

TEST(NonFiniteNumbers, AreFoundInAPanelAndInAPolicysOutputs) {
  const std::unique_ptr<Trainer> trainer =
      trainer_of(simulated_config(register_not_finite({{70, 4, What::kReward}})));
  Panel panel;
  panel.env_id = trainer->config().env_id;
  panel.episodes = 80;
  panel.seeds = {1, 2};
  expect_not_finite(play_panel(panel, trainer->policy(), 2).status(),
                    "reward of episode 70 (row all / nominal, seed 1) is not finite at its step 4");
  const std::vector<float> huge(trainer->network().parameter_count(), 3e38F);
  Policy policy = trainer->policy();
  policy.params = huge.data();
  expect_not_finite(evaluate_policy(policy, {80, 1, 2}).status(),
                    "policy output of episode 0 is not finite at its step 0");
  ThreadPool pool(2);
  BlockSource source(policy, nullptr, 3, pool);
  expect_not_finite(source.collect({4, 8}, 3, 0).status(), "in environment 0 at its step 0");
}

TEST_F(SimulatorRuns, NonFiniteNumbersInAnEvaluationEndTheRun) {
  const Config config = simulated_config(
      register_not_finite({{70, 4, What::kReward}}),
      {{"eval_interval", "2"}, {"eval_episodes", "80"}, {"checkpoint_interval", "1"}});
  expect_not_finite(start_run(config, at("run"), 2, {}).status(),
                    "reward of episode 70 is not finite at its step 4");
}

TEST_F(SimulatorRuns, TheLastStateIsSavedBeforeItsEvaluation) {
  const Config config = simulated_config(
      register_not_finite({{70, 4, What::kReward}}),
      {{"eval_interval", "1000"}, {"eval_episodes", "80"}, {"checkpoint_interval", "1000"}});
  const std::string words = "reward of episode 70 is not finite at its step 4";
  expect_not_finite(start_run(config, at("run"), 2, {}).status(), words);
  const Result<FoundCheckpoint> last = find_checkpoint(at("run"));
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ(last.value().path,
            RunFolder::open(at("run")).take().checkpoint_path(config.num_iterations()));
  RunHooks hooks;
  hooks.on_iteration = [](const Progress&) { ADD_FAILURE() << "trains again"; };
  expect_not_finite(resume_run(at("run"), 2, hooks).status(), words);
}

// Every resume used to end with the same error, and the run never got its line.
TEST_F(SimulatorRuns, NonFiniteNumbersInAPanelAreRecordedAsItsFailure) {
  const Config config = simulated_config(register_not_finite({{70, 4, What::kReward}}));
  Panel panel;
  panel.env_id = config.env_id;
  panel.episodes = 80;
  const Result<RunSummary> first = start_run(config, at("run"), 2, {}, panel);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_TRUE(first.value().finished);
  const std::string words = "reward of episode 70 (row all / nominal, seed 1) is not finite";
  EXPECT_NE(first.value().panel_failure.find(words), std::string::npos);
  const Result<std::string> line = read_ledger_line(at("run") + "/ledger_line.json", 1);
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_TRUE(check_ledger_line(line.value()).ok()) << check_ledger_line(line.value()).message();
  const auto recorded = json("run/ledger_line.json")["panel"];
  EXPECT_EQ(recorded["failed"], first.value().panel_failure);
  EXPECT_EQ(recorded["hash"], panel_hash(panel));
  EXPECT_FALSE(recorded.contains("rows"));
  const Result<RunSummary> again = resume_run(at("run"), 2, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.value().panel_failure.empty());
  const Result<RerunPlan> plan = plan_rerun(line.value());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Result<RerunReport> report = rerun(line.value(), plan.value(), at("rerun"), 1, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().agrees());
}

TEST(NonFiniteNumbers, AreFoundInTheRandomPlayThatRndBeginsWith) {
  const std::string id = register_not_finite({{30, 4, What::kObservation}});
  const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config(
      id, {{"algorithm", "ppo_rnd"}, {"num_iterations_obs_norm_init", "1"}, {"norm_obs", "true"}}));
  expect_not_finite(
      trainer->iterate(),
      "observation of environment 30 of RND's random play is not finite at its step 5");
}

// Fails as a C++ program may where its state is read or set.
class ThrowingState final : public Simulator {
 public:
  ThrowingState(std::unique_ptr<VecEnv> inner, const std::string& id, bool in_capture)
      : Simulator(std::move(inner), id, {}), in_capture_(in_capture) {}
  Status capture() override {
    if (in_capture_) throw std::runtime_error("socket closed");
    return inner().capture();
  }
  Status state_restored() override { throw std::runtime_error("socket closed"); }

 private:
  bool in_capture_;
};

TEST_F(SimulatorRuns, ExceptionsOfStationaryStartsNameTheirSimulator) {
  ThreadPool pool(1);
  for (const bool in_capture : {false, true}) {
    const std::string id = fmt::format("ThrowingState{}-v0", in_capture);
    register_simulator(id, [=](auto inner) {
      return std::make_unique<ThrowingState>(std::move(inner), id, in_capture);
    });
    const std::unique_ptr<Trainer> trainer =
        trainer_of(simulated_config(id, {{"max_episode_steps", "4"}}));
    const Result<StartPool> starts = StartPool::create(trainer->policy(), 3, pool);
    Status failed = starts.status();
    if (!in_capture) {
      ASSERT_TRUE(starts.ok()) << starts.status().message();
      BlockSource source(trainer->policy(), &starts.value(), 3, pool);
      failed = source.collect({4, 8}, 3, 0).status();
    }
    EXPECT_EQ(failed.kind(), ErrorKind::kIo);
    const std::string words = fmt::format(
        "{}() of {} threw an exception, expected a Status: "
        "socket closed",
        in_capture ? "capture" : "state_restored", id);
    EXPECT_NE(failed.message().find(words), std::string::npos) << failed.message();
  }
}

}  // namespace
}  // namespace broadloom
