#include "broadloom/record/run_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

TEST(RunCurve, ReadsMetricsAndSkipsLinesBeforeTheFirstEpisode) {
  const auto dir =
      std::filesystem::temp_directory_path() / ("broadloom_curve_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = (dir / "metrics.jsonl").string();
  ASSERT_TRUE(write_file_atomically(path,
                                    "{\"global_step\": 10, \"episodic_return\": null}\n"
                                    "{\"global_step\": 20, \"episodic_return\": 1.5}\n")
                  .ok());
  const Result<Curve> curve = read_curve(dir.string());
  ASSERT_TRUE(curve.ok());
  EXPECT_EQ(curve.value().steps, std::vector<double>{20});
  EXPECT_EQ(curve.value().returns, std::vector<double>{1.5});
  ASSERT_TRUE(
      write_file_atomically(path, "{\"global_step\": 10, \"episodic_return\": null}\n").ok());
  EXPECT_EQ(read_curve(dir.string()).status().kind(), ErrorKind::kNotFound);
  ASSERT_TRUE(write_file_atomically(path, "half a li").ok());
  EXPECT_EQ(read_curve(dir.string()).status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(read_curve((dir / "none").string()).status().kind(), ErrorKind::kNotFound);
  std::filesystem::remove_all(dir);
}

// Runs of four folders: of before sources were recorded, of two versions of one source, of another.
class Sources : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() /
           ("broadloom_sources_" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string run(const std::string& name, const std::string& seed, const std::string& upstream) {
    const std::string path = (dir_ / name).string();
    std::filesystem::create_directories(path);
    Manifest manifest;
    manifest.config = {{"env_id", "Cart-v0"}, {"seed", seed}};
    manifest.upstream = upstream;
    const std::string line = "{\"global_step\": 20, \"episodic_return\": 1.5}\n";
    EXPECT_TRUE(write_file_atomically(path + "/manifest.json", manifest_json(manifest)).ok());
    EXPECT_TRUE(write_file_atomically(path + "/metrics.jsonl", line).ok());
    return path;
  }

  std::filesystem::path dir_;
};

TEST_F(Sources, ARunWithoutOneIsOfTheSameArm) {
  const std::string older = run("older", "1", ""), newer = run("newer", "2", "MySim 2.1"),
                    newest = run("newest", "3", "MySim 2.2"), other = run("other", "4", "Cart(2)");
  const Result<Curves> one = read_curves({older, newer, newest});
  ASSERT_TRUE(one.ok()) << one.status().message();
  ASSERT_EQ(one.value().lines.size(), 1u);
  EXPECT_EQ(one.value().lines[0].curves.size(), 3u);
  // An older run could be of either of two sources.
  const Result<Curves> many = read_curves({older, newer, newest, other});
  ASSERT_TRUE(many.ok()) << many.status().message();
  ASSERT_EQ(many.value().lines.size(), 3u);
  EXPECT_EQ(many.value().lines[0].name, "upstream=none");
  EXPECT_EQ(many.value().lines[1].name, "upstream=MySim");
  EXPECT_EQ(many.value().lines[1].curves.size(), 2u);
  EXPECT_EQ(many.value().lines[2].name, "upstream=Cart(2)");
}

TEST_F(Sources, ARunWithoutOneCountsOnceWithItsRerun) {
  const std::string older = run("older", "1", ""), newer = run("newer", "1", "MySim 2.1");
  EXPECT_EQ(read_curves({older, newer}).status().kind(), ErrorKind::kInvalidConfig);
  const Result<DistinctRuns> distinct = distinct_runs({older, newer});
  ASSERT_TRUE(distinct.ok()) << distinct.status().message();
  EXPECT_EQ(distinct.value().run_dirs, std::vector<std::string>{older});
}

}  // namespace
}  // namespace broadloom
