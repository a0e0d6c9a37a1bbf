// Simulators with limits: everything else works as usual, and limits are reported.
// sanitizers: address, threads
#include "tests/env/simulators.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/first_starts.h"
#include "research/audit/run_audit.h"
#include "research/lab/frozen.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

Config simulated_config(const std::string& env_id, const Overrides& overrides = {}) {
  Overrides all{{"env_id", env_id},       {"num_envs", "37"},     {"num_steps", "13"},
                {"num_minibatches", "3"}, {"update_epochs", "2"}, {"total_timesteps", "2886"},
                {"hidden_sizes", "16,8"}};
  return resolved(add_overrides(all, overrides));
}

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

// Cannot stagger starts.
bool registers_in_step() {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  spec.id = "InStep-v0";
  const auto make = [](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    if (options.stagger_starts) return invalid("all of them begin at once");
    return make_vec_env("CartPole-v1", {}, options);
  };
  return register_environment(simulator_entry(spec, make)).ok();
}

void register_simulators() {
  static const bool once = [] {
    const auto whole = [](auto inner) {
      return std::make_unique<WholeBatch>(std::move(inner), "Whole-v0");
    };
    register_simulator("Whole-v0", whole);
    register_simulator("Bytes-v0", [](auto inner) {
      return std::make_unique<Serialising>(std::move(inner), "Bytes-v0");
    });
    register_simulator("Unsaved-v0", [](auto inner) {
      return std::make_unique<Unsaved>(std::move(inner), "Unsaved-v0", true);
    });
    register_simulator("Lost-v0", [](auto inner) {
      return std::make_unique<Unsaved>(std::move(inner), "Lost-v0", false);
    });
    register_simulator("NoFinals-v0", [](auto inner) {
      return std::make_unique<WithoutFinals>(std::move(inner), "NoFinals-v0");
    });
    register_simulator("Varying-v0", [](auto inner) {
      return std::make_unique<Varying>(std::move(inner), "Varying-v0");
    });
    return registers_in_step();
  }();
  ASSERT_TRUE(once);
}

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

class Runs : public InFolder {
 protected:
  Runs() { register_simulators(); }

  Json json(const std::string& name) const { return Json::parse(read_file(at(name)).take()); }

  RunHooks stop_after(std::int64_t iteration) const {
    RunHooks hooks;
    hooks.on_iteration = [this, iteration](const Progress& now) {
      stop_ = now.iteration == iteration;
    };
    hooks.should_stop = [this] { return stop_; };
    return hooks;
  }

  // A run that is stopped after the third of its six iterations, and resumed.
  Status stopped_and_resumed(const Config& config, const std::string& name) {
    BROADLOOM_TRY(start_run(config, at(name), 1, stop_after(3)).status());
    return resume_run(at(name), 2, {}).status();
  }

  mutable bool stop_ = false;
};

const Overrides kConstant{{"lr_schedule", "constant"}, {"eval_interval", "3"}};

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

TEST_F(Runs, ExceptionsAndErrorsWithoutWordsNameTheirSimulator) {
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

TEST_F(Runs, ExceptionsOfEveryFunctionNameTheirSimulator) {
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
TEST_F(Runs, ExceptionsInAnAuditNameTheirSimulator) {
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

// Each made checkpoints that no run could read.
TEST(States, ThatNoRunCouldReadAreRefusedFirst) {
  const std::pair<Restoring::Change, const char*> cases[] = {
      {[](std::vector<TensorRef>& all) { all.clear(); }, "lists nothing"},
      {[](std::vector<TensorRef>& all) { all.push_back(all[0]); }, "' twice"},
      {[](std::vector<TensorRef>& all) { all[0].name = "learner.params"; },
       "'learner.params', expected a name that begins with the prefix"},
      {[](std::vector<TensorRef>& all) { all[0].shape = {1}; },
       "with 1 rows, expected one for each of 37 environments"},
      {[](std::vector<TensorRef>& all) { all[0].shape = {}; }, "with 0 rows"},
      {[](std::vector<TensorRef>& all) { all[0].data = nullptr; }, "with data = null"}};
  const Config config = simulated_config("CartPole-v1");
  for (const auto& [change, words] : cases) {
    const Status status = Trainer::create(config, 1,
                                          std::make_unique<Restoring>(
                                              envs_of(config), config.env_id, change, Status()))
                              .status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("append_state() of CartPole-v1"), std::string::npos);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
}

// A simulator that fails is no damaged file, which a user would remove.
TEST_F(Runs, StatesThatAreNotRestoredNameTheFileIfItIsDamaged) {
  const std::pair<const char*, Status> cases[] = {
      {"Damaged-v0", {ErrorKind::kCorrupt, "a cart at 9 m"}},
      {"NoMemory-v0", {ErrorKind::kIo, "the GPU has no memory left"}}};
  for (const auto& [id, restored] : cases) {
    register_simulator(id, [id = std::string(id), restored = restored](auto inner) {
      return std::make_unique<Restoring>(std::move(inner), id, nullptr, restored);
    });
    const Status status = stopped_and_resumed(simulated_config(id, kConstant), at(id));
    EXPECT_EQ(status.kind(), restored.kind());
    EXPECT_NE(status.message().find(restored.message()), std::string::npos) << status.message();
    const bool is_damaged = restored.kind() == ErrorKind::kCorrupt;
    EXPECT_EQ(status.message().find("iteration_0000000003.safetensors'") != std::string::npos,
              is_damaged)
        << status.message();
    EXPECT_EQ(status.message().find("remove that file") != std::string::npos, is_damaged);
  }
}

TEST_F(Runs, AFailedStepEndsTheRunAndTheNextResumeGoesOn) {
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

std::string bytes_of(const SafetensorsFile& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return "missing";
  return file.data.substr(found->second.begin, found->second.end - found->second.begin);
}

// The failure costs no finished iteration: the checkpoint is that of a run that stopped there.
TEST_F(Runs, WithoutSavedStateAFailedBlockSavesTheLastIteration) {
  Overrides keys{{"norm_obs", "true"}, {"norm_reward", "true"}, {"recurrent", "mingru"}};
  keys.push_back({"num_minibatches", "1"});
  for (const bool whole : {false, true}) {
    const std::string id = whole ? "FailsUnsavedWhole-v0" : "FailsUnsaved-v0";
    register_simulator(id, [=](auto inner) {
      return std::make_unique<Failing>(std::make_unique<Unsaved>(std::move(inner), id, true), id,
                                       57, whole, false);  // in the fifth iteration
    });
    const Config config = simulated_config(id, keys);
    ASSERT_TRUE(start_run(config, at(id + "_stopped"), 1, stop_after(4)).ok());
    RunHooks hooks;
    std::string folder;
    std::int64_t saved = 0;
    hooks.on_end = [&](const std::string& dir, std::int64_t step) {
      folder = dir;
      saved = step;
    };
    const Status failed = start_run(config, at(id), 2, hooks).status();
    EXPECT_EQ(failed.kind(), ErrorKind::kIo);
    EXPECT_NE(failed.message().find("a resume continues from its step 1,924"), std::string::npos)
        << failed.message();
    EXPECT_EQ(folder, at(id));
    EXPECT_EQ(saved, 1924);
    const std::string file = "/checkpoints/iteration_0000000004.safetensors";
    const Result<SafetensorsFile> got = read_safetensors(at(id) + file),
                                  expected = read_safetensors(at(id + "_stopped") + file);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(got.value().tensors.size(), expected.value().tensors.size());
    for (const auto& [name, entry] : expected.value().tensors) {
      const std::string now = bytes_of(got.value(), name), then = bytes_of(expected.value(), name);
      // States of a recurrent network belong to the lost episodes.
      EXPECT_TRUE(now == (name == "states" ? std::string(then.size(), '\0') : then)) << name;
    }
    EXPECT_TRUE(resume_run(at(id), 1, hooks).ok());
    EXPECT_EQ(saved, config.total_timesteps);
  }
}

TEST(FailedBlocks, AreFollowedByNewEpisodesWhereStateIsNotSaved) {
  const Config config = simulated_config("CartPole-v1");
  const auto without_state = [&]() -> std::unique_ptr<VecEnv> {
    return std::make_unique<Unsaved>(envs_of(config), config.env_id, true);
  };
  const auto failing = [&](bool saves_state) {
    return trainer_on(config,
                      std::make_unique<Failing>(saves_state ? envs_of(config) : without_state(),
                                                config.env_id, 20, false, saves_state));
  };
  const std::unique_ptr<Trainer> unsaved = failing(false), saved = failing(true);
  Unsaved::seeds().clear();
  for (Trainer* trainer : {unsaved.get(), saved.get()}) {
    ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_FALSE(trainer->iterate().ok());
    EXPECT_EQ(trainer->has_whole_state(), trainer == unsaved.get());
    EXPECT_EQ(trainer->clock().iteration, 1);
  }
  ASSERT_TRUE(unsaved->iterate().ok());
  EXPECT_EQ(unsaved->report().iteration, 2);
  EXPECT_EQ(Unsaved::seeds().size(), 1u);
}

TEST_F(Runs, AFailedStepEndsAnEvaluation) {
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

TEST_F(Runs, NonFiniteNumbersInAnEvaluationEndTheRun) {
  const Config config = simulated_config(
      register_not_finite({{70, 4, What::kReward}}),
      {{"eval_interval", "2"}, {"eval_episodes", "80"}, {"checkpoint_interval", "1"}});
  expect_not_finite(start_run(config, at("run"), 2, {}).status(),
                    "reward of episode 70 is not finite at its step 4");
}

TEST_F(Runs, TheLastStateIsSavedBeforeItsEvaluation) {
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
TEST_F(Runs, NonFiniteNumbersInAPanelAreRecordedAsItsFailure) {
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

TEST_F(Runs, SerialisedStateIsSavedAndRestored) {
  ASSERT_TRUE(start_run(simulated_config("CartPole-v1", kConstant), at("plain"), 1, {}).ok());
  const Status status = stopped_and_resumed(simulated_config("Bytes-v0", kConstant), "bytes");
  ASSERT_TRUE(status.ok()) << status.message();
  const Json plain = json("plain/ledger_line.json"), bytes = json("bytes/ledger_line.json");
  EXPECT_EQ(bytes["result"]["parameters_hash"], plain["result"]["parameters_hash"]);
  EXPECT_FALSE(bytes["contract"].contains("simulator"));
  EXPECT_EQ(bytes["machine"]["bits"], plain["machine"]["bits"]);
}

TEST_F(Runs, WithoutSavedStateAResumeBeginsNewEpisodesAndSaysSo) {
  Unsaved::seeds().clear();
  std::string notes;
  const Config config = simulated_config("Unsaved-v0", kConstant);
  ASSERT_TRUE(start_run(config, at("run"), 1, stop_after(3)).ok());
  EXPECT_EQ(
      read_file(at("run/checkpoints/iteration_0000000003.safetensors")).value().find("\"envs"),
      std::string::npos);
  RunHooks hooks = stop_after(5);
  hooks.on_note = [&](const std::string& note) { notes += note; };
  ASSERT_TRUE(resume_run(at("run"), 1, hooks).ok());
  const Status resumed = resume_run(at("run"), 1, {}).status();
  ASSERT_TRUE(resumed.ok()) << resumed.message();
  EXPECT_NE(notes.find("from step 1443 with new episodes"), std::string::npos) << notes;
  const Json line = json("run/ledger_line.json");
  EXPECT_EQ(line["run"]["new_episodes_at"], (Json{1443, 2405}));
  EXPECT_EQ(line["contract"]["simulator"]["saves_state"], false);
  EXPECT_EQ(read_manifest(at("run/manifest.json")).value().new_episodes_at,
            (std::vector<std::int64_t>{1443, 2405}));
  ASSERT_EQ(Unsaved::seeds().size(), 2u);  // other episodes each time, and other than the run's
  EXPECT_NE(Unsaved::seeds()[0], Unsaved::seeds()[1]);
  EXPECT_NE(Unsaved::seeds()[0], config.seed);
  // A finished run begins no new episodes.
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  EXPECT_EQ(read_manifest(at("run/manifest.json")).value().new_episodes_at.size(), 2u);
  // Also if it was killed before its line was written.
  std::filesystem::remove(at("run/ledger_line.json"));
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  EXPECT_EQ(json("run/ledger_line.json")["result"], line["result"]);
  EXPECT_EQ(line["seeds"]["training"]["streams"]["anew"], 23);
}

TEST_F(Runs, WithoutSavedStateARunThatAnEvaluationEndedBeginsNoNewEpisodes) {
  const Overrides keys{{"stop_at_return", "5"}, {"max_episode_steps", "5"}, {"eval_episodes", "4"}};
  const Config config = simulated_config("Unsaved-v0", add_overrides(kConstant, keys));
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  const Json line = json("run/ledger_line.json");
  ASSERT_EQ(line["run"]["stopped"]["of"], "evaluation");
  std::filesystem::remove(at("run/ledger_line.json"));  // as if killed before it was written
  const Result<RunSummary> over = resume_run(at("run"), 1, {});
  ASSERT_TRUE(over.ok()) << over.status().message();
  EXPECT_EQ(over.value().stopped_by, "stop_at_return");
  EXPECT_EQ(json("run/ledger_line.json")["result"], line["result"]);
  EXPECT_TRUE(read_manifest(at("run/manifest.json")).value().new_episodes_at.empty());
}

TEST_F(Runs, DisturbancesBeginAnewWithWhatTheyAreAround) {
  Overrides keys = kConstant;
  keys.insert(keys.end(), {{"disturb.action_delay", "2"}, {"disturb.push_interval", "9"}});
  Unsaved::seeds().clear();
  const Status status = stopped_and_resumed(simulated_config("Unsaved-v0", keys), "run");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Unsaved::seeds().size(), 1u);
  EXPECT_EQ(read_manifest(at("run/manifest.json")).value().new_episodes_at.size(), 1u);
}

TEST_F(Runs, SimulatorsWithoutStateOrNewEpisodesAreNotResumed) {
  const Config config = simulated_config("Lost-v0", kConstant);
  const Status refused = stopped_and_resumed(config, "run");
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("VecEnv::begin_anew()"), std::string::npos) << refused.message();
  ASSERT_TRUE(start_run(config, at("whole"), 1, {}).ok());
  EXPECT_TRUE(resume_run(at("whole"), 1, {}).ok());  // there is nothing to go on with
}

// A run that begins with another run's policy keeps its own environments.
TEST_F(Runs, SerialisedStateOutlivesAnotherRunsPolicy) {
  ASSERT_TRUE(start_run(simulated_config("Bytes-v0", kConstant), at("first"), 1, {}).ok());
  const InitialPolicy policy = read_initial_policy(at("first")).take();
  const auto begun = [&](const char* id) {
    const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config(id, {{"seed", "2"}}));
    EXPECT_TRUE(begin_with(policy, *trainer).ok());
    EXPECT_TRUE(trainer->iterate().ok());
    return std::vector<float>(trainer->params(),
                              trainer->params() + trainer->network().parameter_count());
  };
  EXPECT_EQ(begun("Bytes-v0"), begun("CartPole-v1"));
}

TEST_F(Runs, WithoutFinalObservationsBootstrappingIsRefused) {
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

TEST_F(Runs, VaryingSimulatorsAreRecordedAndComparedByStatistics) {
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
TEST_F(Runs, StatisticsStillTellRunsApart) {
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

TEST_F(Runs, TheContractSaysWhatASimulatorCannot) {
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
TEST_F(Runs, LimitsOfASimulatorAreRefusedWithTheContract) {
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

TEST_F(Runs, AnotherVersionIsNotedBesideAnotherEngine) {
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

TEST_F(Runs, ExceptionsOfStationaryStartsNameTheirSimulator) {
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

TEST_F(Runs, StationaryStartsNeedStateThatIsSaved) {
  const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config("Lost-v0"));
  const Status refused = StartPool::check(trainer->policy());
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("expected synchronised"), std::string::npos);
}

// Blocks of the laboratory that begin in states that a simulator has serialised.
TEST_F(Runs, StationaryStartsOfSerialisedState) {
  ThreadPool pool(2);
  const Overrides keys{{"max_episode_steps", "4"}};
  const std::unique_ptr<Trainer> plain = trainer_of(simulated_config("CartPole-v1", keys));
  const std::unique_ptr<Trainer> bytes = trainer_of(simulated_config("Bytes-v0", keys));
  std::vector<Observations> observations;
  for (const Trainer* trainer : {plain.get(), bytes.get()}) {
    const Result<StartPool> starts = StartPool::create(trainer->policy(), 3, pool);
    ASSERT_TRUE(starts.ok()) << starts.status().message();
    BlockSource source(trainer->policy(), &starts.value(), 3, pool);
    const auto block = source.collect({4, 8}, 3, 0);
    ASSERT_TRUE(block.ok()) << block.status().message();
    observations.push_back(block.value()->observations);
  }
  EXPECT_EQ(observations[0], observations[1]);
}

}  // namespace
}  // namespace broadloom
