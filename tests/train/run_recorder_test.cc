// The TensorBoard events of a run have the numbers of metrics.jsonl. Also tests where a resume
// finds both logs.
#include "broadloom/train/run_recorder.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/run.h"
#include "tests/record/refused_call.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using RunRecorderTest = InFolder;

// A run's folder with event files, and a trainer whose recorder is opened.
class EventFiles : public InFolder {
 protected:
  EventFiles() {
    const auto fill = [](const RunFolder& made) {
      return write_file_atomically(made.manifest_path(), "{}");
    };
    EXPECT_TRUE(RunFolder::create(at("run"), fill).ok());
    folder_ = RunFolder::open(at("run")).take();
  }

  // A name that sorts after the existing ones.
  std::string written(const std::string& bytes) const {
    const std::string path = folder_.new_events_path();
    EXPECT_TRUE(write_file_atomically(path, bytes).ok());
    return std::filesystem::path(path).filename().string();
  }
  std::string bytes(const std::string& name) const { return read_file(at("run/" + name)).take(); }
  // Number of notes.
  std::size_t open(std::int64_t events_bytes, const std::string& events_file) const {
    std::size_t notes = 0;
    const auto trainer = trainer_of(resolved({{"env_id", "CartPole-v1"}}));
    const Result<RunRecorder> recorder = RunRecorder::open(
        folder_, *trainer, {0, 0, events_bytes, events_file}, [&](const std::string&) { ++notes; });
    EXPECT_TRUE(recorder.ok()) << recorder.status().message();
    return notes;
  }

  RunFolder folder_;
};

TEST_F(EventFiles, TheOneThatTheCheckpointNamesIsCutAndALaterOneLeft) {
  const std::string named = written("0123456789abcdef"), later = written("of a process since");
  EXPECT_EQ(open(10, named), 0U);
  EXPECT_EQ(bytes(named), "0123456789");
  EXPECT_EQ(bytes(later), "of a process since");
}

TEST_F(EventFiles, AreReplacedIfMissingAndLaterOnesStay) {
  const std::string later = written("longer than what is kept");
  EXPECT_EQ(open(10, "events.out.tfevents.0000000001.host.1.0"), 1U);
  EXPECT_EQ(bytes(later), "longer than what is kept");
  const std::string newest = std::filesystem::path(folder_.events_path()).filename().string();
  EXPECT_GT(newest, later);
  EXPECT_NE(bytes(newest).find("brain.Event"), std::string::npos);
}

TEST_F(EventFiles, TheNewestIsCutIfTheCheckpointNamesNone) {
  const std::string first = written("0123456789abcdef"), newest = written("0123456789abcdef");
  EXPECT_EQ(open(10, ""), 0U);
  EXPECT_EQ(bytes(first), "0123456789abcdef");
  EXPECT_EQ(bytes(newest), "0123456789");
}

TEST_F(EventFiles, ACheckpointNamesTheRunsAndNothingOutsideItsFolder) {
  const auto trainer = trainer_of(resolved({{"env_id", "CartPole-v1"}, {"num_envs", "2"}}));
  Result<RunRecorder> recorder = RunRecorder::open(folder_, *trainer, {}, {});
  ASSERT_TRUE(recorder.ok() && recorder.value().save(*trainer).ok());
  const LogBytes logs = read_checkpoint(folder_.checkpoint_path(0)).take().logs;
  EXPECT_EQ(at("run/" + logs.events_file), folder_.events_path());
  EXPECT_EQ(logs.events, static_cast<std::int64_t>(bytes(logs.events_file).size()));
  ASSERT_TRUE(save_checkpoint(at("other"), *trainer, {0, 0, 0, "../" + logs.events_file}).ok());
  EXPECT_EQ(read_checkpoint(at("other")).take().logs.events_file, logs.events_file);
}

// Names of new logs are synced to the disk, and a failure is reported.
TEST_F(EventFiles, TheNamesOfNewLogsAreOnTheDisk) {
  const auto trainer = trainer_of(resolved({{"env_id", "CartPole-v1"}, {"num_envs", "2"}}));
  EXPECT_EXIT(
      {
        refuse_call(SYS_fsync, EIO);
        const Status status = RunRecorder::open(folder_, *trainer, {}, {}).status();
        ::_exit(status.kind() == ErrorKind::kIo ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// With gamma 0 and no reward, value targets do not vary, and no episode ends in one step.
TEST_F(RunRecorderTest, TensorBoardGetsNumbersUnderTheirTagsAndNoneThatAreNotDefined) {
  const Result<Config> config = resolve_config({{"env_id", "FrozenLake-v1"},
                                                {"num_envs", "2"},
                                                {"num_steps", "1"},
                                                {"num_minibatches", "1"},
                                                {"total_timesteps", "2"},
                                                {"gamma", "0"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Result<RunSummary> run = start_run(config.value(), at("run"), 1, {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  const std::string metrics = read_file(at("run") + "/metrics.jsonl").take();
  for (const char* part : {"\"explained_variance\": null", "\"episodic_return\": null",
                           "\"ess\":", "\"epochs\":", "\"steps_per_second\":"}) {
    EXPECT_NE(metrics.find(part), std::string::npos) << part << " is not in " << metrics;
  }
  const std::string events = read_file(RunFolder::open(at("run")).take().events_path()).take();
  for (const char* tag : {"losses/ess", "charts/SPS", "charts/learning_rate"}) {
    EXPECT_NE(events.find(tag), std::string::npos) << tag;
  }
  for (const char* tag : {"explained_variance", "episodic_return", "epochs", "global_step"}) {
    EXPECT_EQ(events.find(tag), std::string::npos) << tag;
  }
}

}  // namespace
}  // namespace broadloom
