// A run folder that another process uses: every file has one writer.
#include "broadloom/train/run.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

class RunInUse : public InFolder {
 protected:
  // Six iterations, an evaluation after each.
  static Config config() {
    const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                  {"num_envs", "4"},
                                                  {"num_steps", "8"},
                                                  {"total_timesteps", "192"},
                                                  {"eval_interval", "1"},
                                                  {"eval_episodes", "2"},
                                                  {"hidden_sizes", "8"}});
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.value();
  }

  std::string run() const { return at("run"); }

  // The lines of a file of the run. A line that is not a JSON object fails the test.
  std::vector<Json> lines(const std::string& name) const {
    std::vector<Json> out;
    std::istringstream text(read_file(run() + "/" + name).take());
    for (std::string line; std::getline(text, line);) {
      out.push_back(Json::parse(line, nullptr, false));
      EXPECT_TRUE(out.back().is_object()) << name << ": " << line;
    }
    return out;
  }
};

// Calls `meddle` after the third iteration.
template <class F>
RunHooks meddling(F meddle) {
  RunHooks hooks;
  hooks.on_iteration = [meddle](const Progress& progress) {
    if (progress.iteration == 3) meddle();
  };
  return hooks;
}

TEST_F(RunInUse, AnEvaluationBesideATrainingTearsNoLog) {
  std::int64_t iteration = 0;
  RunHooks hooks;
  hooks.on_iteration = [&](const Progress& progress) {
    iteration = progress.iteration;
    if (iteration != 3) return;
    const EvalOptions options{3, 77, 1};
    const Result<EvalResult> asked = evaluate_run(run(), options);
    EXPECT_TRUE(asked.ok()) << asked.status().message();
    EXPECT_TRUE(record_evaluation(run(), asked.value(), options).ok());
  };
  hooks.should_stop = [&] { return iteration == 5; };
  const Result<RunSummary> stopped = start_run(config(), run(), 1, hooks);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_FALSE(stopped.value().finished);
  const Result<RunSummary> resumed = resume_run(run(), 1, {});
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(resumed.value().finished);
  std::vector<std::int64_t> steps;
  for (const Json& line : lines("eval.jsonl")) steps.push_back(line.value("global_step", -1));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{32, 64, 96, 128, 160, 192}));
  const std::vector<Json> asked = lines("eval_command.jsonl");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].value("seed", 0), 77);
  EXPECT_EQ(asked[0].value("source", ""), "command");
}

TEST_F(RunInUse, ASecondTrainerIsRefusedAndChangesNothing) {
  std::optional<Status> second;
  const Result<RunSummary> first =
      start_run(config(), run(), 1, meddling([&] { second = resume_run(run(), 1, {}).status(); }));
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_TRUE(first.value().finished);
  EXPECT_EQ(lines("metrics.jsonl").size(), 6U);
  EXPECT_EQ(lines("eval.jsonl").size(), 6U);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->kind(), ErrorKind::kIo) << second->message();
  EXPECT_NE(second->message().find("process " + std::to_string(::getpid())), std::string::npos)
      << second->message();
  EXPECT_NE(second->message().find("--out"), std::string::npos) << second->message();
  // The lock ends with the training.
  const Result<RunSummary> again = resume_run(run(), 1, {});
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST_F(RunInUse, TwoResumesOfARunExcludeEachOther) {
  RunHooks stop_at_once;
  stop_at_once.should_stop = [] { return true; };
  ASSERT_TRUE(start_run(config(), run(), 1, stop_at_once).ok());
  std::optional<Status> second;
  const Result<RunSummary> first =
      resume_run(run(), 1, meddling([&] { second = resume_run(run(), 1, {}).status(); }));
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->kind(), ErrorKind::kIo) << second->message();
  EXPECT_EQ(lines("metrics.jsonl").size(), 6U);
}

// A damaged log, with a word of the message.
struct Damage {
  const char* file;
  std::string (*change)(const std::string& whole);
  const char* word;
};

const Damage kDamages[] = {
    {"metrics.jsonl", [](const std::string& s) { return s.substr(0, s.size() / 2); }, "cut short"},
    {"metrics.jsonl", [](const std::string&) { return std::string(); }, "has 0 bytes"},
    {"eval.jsonl", [](const std::string& s) { return s.substr(1); }, "cut short"},
    {"metrics.jsonl", [](const std::string& s) { return "x" + s.substr(1); }, "bad line"},
    {"eval.jsonl", [](const std::string& s) { return s.substr(0, s.size() - 1) + " "; },
     "bad line"},
    {"hashes.bin", [](const std::string& s) { return s.substr(0, s.size() - 1); }, "5 iterations"},
    {"hashes.bin", [](const std::string& s) { return s.substr(0, s.size() - 1) + "x"; }, "altered"},
    {"hashes.bin", [](const std::string&) { return std::string(); }, "is gone"},
};

TEST_F(RunInUse, AFinishedRunWhoseLogsAreDamagedIsNotSaidToBeWhole) {
  Config hashed = config();
  hashed.hashes = true;
  ASSERT_TRUE(start_run(hashed, run(), 1, {}).ok());
  EXPECT_TRUE(resume_run(run(), 1, {}).ok());
  for (const Damage& damage : kDamages) {
    const std::string path = run() + "/" + damage.file;
    const std::string whole = read_file(path).take();
    ASSERT_TRUE(write_file_atomically(path, damage.change(whole)).ok());
    const Status status = resume_run(run(), 1, {}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << damage.file << ": " << damage.word;
    for (const std::string& word :
         {std::string(damage.file), std::string(damage.word), "train --init " + run() + "`"}) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
    ASSERT_TRUE(write_file_atomically(path, whole + "what a resume cuts off").ok());
    EXPECT_TRUE(resume_run(run(), 1, {}).ok()) << damage.file;
    ASSERT_TRUE(write_file_atomically(path, whole).ok());
  }
}

// The run was killed after its folder appeared with the first checkpoint, before any log. Nobody
// else has the record, and each command recommends a resume.
TEST_F(RunInUse, ADamagedRecordIsWrittenAnew) {
  ASSERT_TRUE(start_run(config(), run(), 1, {}).ok());
  const std::string path = run() + "/ledger_line.json";
  const std::string whole = read_file(path).take();
  for (const std::string& damaged :
       {std::string(), whole.substr(0, 500), std::string("{}\n"),
        std::string(whole).replace(whole.find("CartPole"), 4, "Fish")}) {
    ASSERT_TRUE(write_file_atomically(path, damaged).ok());
    ASSERT_TRUE(resume_run(run(), 1, {}).ok());
    const std::string line = read_ledger_line(path, 1).take();
    EXPECT_TRUE(check_ledger_line(line).ok()) << check_ledger_line(line).message();
  }
  const std::string anew = read_file(path).take();
  ASSERT_TRUE(resume_run(run(), 1, {}).ok());
  EXPECT_EQ(read_file(path).take(), anew) << "a whole one stays";
}

// A manipulated checkpoint could truncate another file.
TEST_F(RunInUse, AnEventFileOfAnotherNameIsRefused) {
  RunHooks hooks;
  hooks.should_stop = [] { return true; };
  ASSERT_TRUE(start_run(config(), run(), 1, hooks).ok());
  const std::string path = find_checkpoint(run()).value().path;
  const std::string manifest = read_file(run() + "/manifest.json").take();
  const SafetensorsFile file = read_safetensors(path).take();
  std::vector<TensorRef> tensors;
  std::string data = file.data;
  for (const auto& [name, entry] : file.tensors) {
    tensors.push_back({name, entry.dtype, entry.shape, data.data() + entry.begin});
  }
  Metadata metadata = file.metadata;
  metadata["events_file"] = "manifest.json";
  metadata["events_bytes"] = "7";
  ASSERT_TRUE(write_safetensors(path, tensors, metadata).ok());
  const Status status = resume_run(run(), 1, {}).status();
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << status.message();
  EXPECT_NE(status.message().find("as its event file"), std::string::npos) << status.message();
  EXPECT_EQ(read_file(run() + "/manifest.json").take(), manifest);
}

TEST_F(RunInUse, ARunThatWasKilledBeforeItsFirstLogGoesOn) {
  Config hashed = config();
  hashed.hashes = true;
  hashed.keep_checkpoints = 100;  // the first one, too
  ASSERT_TRUE(start_run(hashed, run(), 1, {}).ok());
  const std::string whole = read_file(run() + "/hashes.bin").take();
  for (const char* log : {"metrics.jsonl", "eval.jsonl", "hashes.bin", "ledger_line.json"}) {
    std::filesystem::remove(run() + "/" + log);
  }
  const RunFolder folder = RunFolder::open(run()).take();
  while (!folder.checkpoint_before(folder.latest_checkpoint().value()).empty()) {
    std::filesystem::remove(folder.latest_checkpoint().value());
  }
  const Result<RunSummary> summary = resume_run(run(), 1, {});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().finished);
  EXPECT_EQ(read_file(run() + "/hashes.bin").value(), whole);
}

TEST_F(RunInUse, AStoppedRunWhoseLogsAreDamagedIsRefusedBeforeItsContract) {
  RunHooks hooks;
  hooks.should_stop = [] { return true; };
  ASSERT_TRUE(start_run(config(), run(), 1, hooks).ok());
  ASSERT_TRUE(write_file_atomically(run() + "/metrics.jsonl", "").ok());
  bool announced = false;
  hooks.on_contract = [&](const RolloutContract&) { announced = true; };
  const Status status = resume_run(run(), 1, hooks).status();
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt);
  EXPECT_NE(status.message().find("train --init " + run() + "`"), std::string::npos);
  EXPECT_FALSE(announced);
}

}  // namespace
}  // namespace broadloom
