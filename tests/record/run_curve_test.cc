#include "broadloom/record/run_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "broadloom/record/files.h"

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

}  // namespace
}  // namespace broadloom
