// Errors about paths that are neither runs nor checkpoints.
#include "broadloom/evaluate/run_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class RunPaths : public ::testing::Test {
 protected:
  RunPaths() : dir_(fs::temp_directory_path() / ("broadloom_path_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_ / "runs/a/checkpoints");
    fs::create_directories(dir_ / "empty");
    fs::create_directories(dir_ / "kept");
    write("runs/a/manifest.json", "{\n  \"format\": 1\n}\n");
    write("runs/a/metrics.jsonl", "{}\n");
    for (const char* number : {"1", "2"}) {
      const std::string name = std::string("iteration_000000000") + number + ".safetensors";
      write("runs/a/checkpoints/" + name, "x");
      write("kept/" + name, "x");
    }
    write("notes.md", "hi\n");
    write("store", std::string("SQLite format 3\0", 16));
    write("best", std::string("\x10\0\0\0\0\0\0\0{\"a\":1}", 15));
  }
  ~RunPaths() override { fs::remove_all(dir_); }

  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    ASSERT_TRUE(write_file_atomically(at(name), bytes).ok());
  }
  static void expect_words(const Status& status, const std::vector<std::string>& words) {
    EXPECT_EQ(status.kind(), ErrorKind::kNotFound) << status.message();
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
  }

  fs::path dir_;
};

TEST_F(RunPaths, AcceptARun) {
  EXPECT_TRUE(check_run_folder(at("runs/a")).ok());
  EXPECT_TRUE(check_run_folder(at("runs/a/")).ok());
  EXPECT_EQ(find_policy(at("runs/a")).value().path,
            at("runs/a/checkpoints/iteration_0000000002.safetensors"));
}

TEST_F(RunPaths, NameWhatAPathIsAndWhatToUse) {
  expect_words(check_run_folder(at("none")), {"there is no run folder"});
  expect_words(check_run_folder(at("notes.md")), {"notes.md' is a file", "`broadloom train"});
  expect_words(check_run_folder(at("store")), {"a study's store", "`broadloom report "});
  const std::string run = "'" + at("runs/a") + "'";
  expect_words(check_run_folder(at("runs/a/metrics.jsonl")), {"is a file", run});
  expect_words(check_run_folder(at("runs/a/checkpoints/")), {"no manifest.json", run});
  expect_words(check_run_folder(at("runs/a/checkpoints/iteration_0000000001.safetensors")),
               {"is a file", run});
  expect_words(check_run_folder(at("runs")), {"no manifest.json", "one of the runs", run});
  expect_words(check_run_folder(at("empty")), {"no manifest.json", "`broadloom train"});
}

TEST_F(RunPaths, NameTheRunAroundAFile) {
  const fs::path before = fs::current_path();
  fs::current_path(at("runs/a"));
  expect_words(check_run_folder("metrics.jsonl"), {"is a file", "'.'"});
  expect_words(find_policy("checkpoints").status(),
               {"'checkpoints/iteration_0000000002.safetensors', or '.'"});
  fs::current_path(before);
}

TEST_F(RunPaths, RecogniseACheckpointByNameOrHeader) {
  for (const char* name : {"runs/a/checkpoints/iteration_0000000001.safetensors", "best"}) {
    const Result<FoundCheckpoint> found = find_policy(at(name));
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value().path, at(name));
  }
}

TEST_F(RunPaths, NameWhatToUseInsteadForAPolicy) {
  const std::string run = "'" + at("runs/a") + "'";
  expect_words(find_policy(at("none")).status(), {"nor a checkpoint file of that name"});
  expect_words(find_policy(at("notes.md")).status(), {"is a file", ".safetensors", "`broadloom"});
  expect_words(find_policy(at("runs/a/manifest.json")).status(), {"is a file", run});
  expect_words(
      find_policy(at("runs/a/checkpoints")).status(),
      {"a folder of checkpoints", at("runs/a/checkpoints/iteration_0000000002.safetensors"), run});
  expect_words(find_policy(at("kept/")).status(),
               {"a folder of checkpoints", at("kept/iteration_0000000002.safetensors")});
  expect_words(find_policy(at("empty")).status(), {"no manifest.json"});
}

}  // namespace
}  // namespace broadloom
