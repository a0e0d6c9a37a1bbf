// State of simulators: saved, restored, refused, or begun anew.
// sanitizers: address, threads
#include "tests/train/simulator_scene.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/thread_pool.h"
#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/lab/frozen.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

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
TEST_F(SimulatorRuns, StatesThatAreNotRestoredNameTheFileIfItIsDamaged) {
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

std::string bytes_of(const SafetensorsFile& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return "missing";
  return file.data.substr(found->second.begin, found->second.end - found->second.begin);
}

// The failure costs no finished iteration: the checkpoint is that of a run that stopped there.
TEST_F(SimulatorRuns, WithoutSavedStateAFailedBlockSavesTheLastIteration) {
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

TEST_F(SimulatorRuns, SerialisedStateIsSavedAndRestored) {
  ASSERT_TRUE(start_run(simulated_config("CartPole-v1", kConstant), at("plain"), 1, {}).ok());
  const Status status = stopped_and_resumed(simulated_config("Bytes-v0", kConstant), "bytes");
  ASSERT_TRUE(status.ok()) << status.message();
  const Json plain = json("plain/ledger_line.json"), bytes = json("bytes/ledger_line.json");
  EXPECT_EQ(bytes["result"]["parameters_hash"], plain["result"]["parameters_hash"]);
  EXPECT_FALSE(bytes["contract"].contains("simulator"));
  EXPECT_EQ(bytes["machine"]["bits"], plain["machine"]["bits"]);
}

TEST_F(SimulatorRuns, WithoutSavedStateAResumeBeginsNewEpisodesAndSaysSo) {
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

TEST_F(SimulatorRuns, WithoutSavedStateARunThatAnEvaluationEndedBeginsNoNewEpisodes) {
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

TEST_F(SimulatorRuns, DisturbancesBeginAnewWithWhatTheyAreAround) {
  Overrides keys = kConstant;
  keys.insert(keys.end(), {{"disturb.action_delay", "2"}, {"disturb.push_interval", "9"}});
  Unsaved::seeds().clear();
  const Status status = stopped_and_resumed(simulated_config("Unsaved-v0", keys), "run");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Unsaved::seeds().size(), 1u);
  EXPECT_EQ(read_manifest(at("run/manifest.json")).value().new_episodes_at.size(), 1u);
}

TEST_F(SimulatorRuns, SimulatorsWithoutStateOrNewEpisodesAreNotResumed) {
  const Config config = simulated_config("Lost-v0", kConstant);
  const Status refused = stopped_and_resumed(config, "run");
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("VecEnv::begin_anew()"), std::string::npos) << refused.message();
  ASSERT_TRUE(start_run(config, at("whole"), 1, {}).ok());
  EXPECT_TRUE(resume_run(at("whole"), 1, {}).ok());  // there is nothing to go on with
}

// A run that begins with another run's policy keeps its own environments.
TEST_F(SimulatorRuns, SerialisedStateOutlivesAnotherRunsPolicy) {
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

TEST_F(SimulatorRuns, StationaryStartsNeedStateThatIsSaved) {
  const std::unique_ptr<Trainer> trainer = trainer_of(simulated_config("Lost-v0"));
  const Status refused = StartPool::check(trainer->policy());
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("expected synchronised"), std::string::npos);
}

// Blocks of the laboratory that begin in states that a simulator has serialised.
TEST_F(SimulatorRuns, StationaryStartsOfSerialisedState) {
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
