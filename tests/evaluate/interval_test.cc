// Intervals of mean returns with few episodes, and records with other intervals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/evaluate/eval_json.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

EvalResult of_returns(const std::vector<double>& returns) {
  std::vector<EvalEpisode> episodes;
  for (const double x : returns) episodes.push_back({x, 1, {}});
  return summarise(episodes, EnvSpec{});
}

TEST(IntervalOfAMean, FewEpisodesHaveStudentsInterval) {
  const EvalResult two = of_returns({8.0, 10.0});
  EXPECT_EQ(two.mean_return, 9.0);
  EXPECT_NEAR(two.std_return, std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(two.ci_high - 9.0, 12.7062, 1e-4);  // one degree of freedom, standard error 1
  EXPECT_NEAR(9.0 - two.ci_low, 12.7062, 1e-4);
  const EvalResult ten = of_returns({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_NEAR(ten.ci_high - 5.5, 2.2622 * std::sqrt(55.0 / 6.0 / 10.0), 2e-4);
}

TEST(IntervalOfAMean, OneEpisodeHasNone) {
  const EvalResult one = of_returns({8.0});
  EXPECT_EQ(one.mean_return, 8.0);
  EXPECT_TRUE(std::isnan(one.ci_low) && std::isnan(one.ci_high));
  const std::string line = eval_json_line(one, 1);
  EXPECT_NE(line.find("\"ci_low\": null, \"ci_high\": null"), std::string::npos) << line;
}

// A run with an evaluation and a panel of one episode.
class RecordedIntervals : public ::testing::Test {
 protected:
  RecordedIntervals()
      : dir_(fs::temp_directory_path() / ("broadloom_interval_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
    const Config config = resolve_config({{"num_envs", "2"},
                                          {"num_steps", "32"},
                                          {"total_timesteps", "256"},
                                          {"hidden_sizes", "8"},
                                          {"eval_interval", "4"},
                                          {"eval_episodes", "1"}})
                              .take();
    panel_ = parse_panel("env_id = \"CartPole-v1\"\nepisodes = 1\n", "panel").take();
    EXPECT_TRUE(start_run(config, run(), 1, {}, panel_).ok());
  }
  ~RecordedIntervals() override { fs::remove_all(dir_); }
  std::string run() const { return (dir_ / "run").string(); }
  std::string panel_path() const {
    return panel_result_path(RunFolder::open(run()).value(), panel_);
  }

  fs::path dir_;
  Panel panel_;
};

void set_intervals(Json& json, const Json& low, const Json& high) {
  json["evaluation"]["ci_low"] = low;
  json["evaluation"]["ci_high"] = high;
  Json& row = json["panel"]["rows"].begin().value();
  row["ci_low"] = low;
  row["ci_high"] = high;
}

bool agree(const std::string& a, const std::string& b) {
  return RerunReport{{}, compare_ledger_lines(a, b)}.agrees();
}

TEST_F(RecordedIntervals, LinesOfEarlierVersionsAgreeInTheirOtherNumbers) {
  const std::string line = read_ledger_line(run() + "/ledger_line.json", 1).take();
  Json json = Json::parse(line);
  EXPECT_TRUE(json["evaluation"]["ci_low"].is_null());
  EXPECT_TRUE(json["panel"]["rows"].begin().value()["ci_high"].is_null());
  json.erase("checksum");
  set_intervals(json, 9.0, 9.0);  // no width, as in earlier versions
  EXPECT_TRUE(agree(seal_ledger_line(json.dump()).take(), line));
  json["evaluation"]["std_return"] = 0.5;
  EXPECT_FALSE(agree(seal_ledger_line(json.dump()).take(), line));
}

TEST_F(RecordedIntervals, OneEpisodeHasNone) {
  ASSERT_TRUE(read_panel_result(panel_path()).ok());
  const Json json = Json::parse(read_file(panel_path()).value());
  EXPECT_TRUE(json["panel"]["rows"].begin().value()["ci_low"].is_null());
}

}  // namespace
}  // namespace broadloom
