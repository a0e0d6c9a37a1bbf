#include "broadloom/report/learning_curve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

TEST(LearningCurve, ReadsMetricsAndSkipsLinesBeforeTheFirstEpisode) {
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

TEST(LearningCurve, DrawsOneRunOrSeveralAndEscapesTheTitle) {
  const Curve rising{{100, 200, 300}, {1, 2, 3}};
  const Curve flat{{100, 250, 400}, {2, 2, 2}};
  const std::string one = learning_curve_svg("a < b & c", {rising}).take();
  EXPECT_NE(one.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(one.find("1 run"), std::string::npos);
  EXPECT_EQ(one.find("nan"), std::string::npos);
  const std::string two = learning_curve_svg("t", {rising, flat}).take();
  EXPECT_NE(two.find("2 runs"), std::string::npos);
  EXPECT_NE(one, two);
  EXPECT_FALSE(learning_curve_svg("t", {}).ok());
}

}  // namespace
}  // namespace broadloom
