#include "research/report/study_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "research/report/json_numbers.h"

namespace broadloom {
namespace {

using nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(JsonNumbers, SixDigitsAndNull) {
  EXPECT_EQ(six_digits(123456789.0), 123457000.0);
  EXPECT_EQ(six_digits(-0.00123456789), -0.00123457);
  EXPECT_EQ(six_digits(0.0), 0.0);
  EXPECT_EQ(json(six_digits(kNone)).dump(), "null");
  EXPECT_EQ(json(six_digits(std::numeric_limits<double>::infinity())).dump(), "null");
  EXPECT_EQ(estimate_json({1.5, kNone, kNone, 3}).dump(),
            R"({"value":1.5,"low":null,"high":null,"count":3})");
}

StudyReport small_report() {
  StudyReport report;
  report.title = "ladder </script>";
  report.tasks.push_back({"Own-v0", "Own-v0", kNone, kNone, "unknown"});
  report.cells.emplace_back();
  report.cells[0].changes = {{"num_envs", "8"}};
  report.cells[0].evaluation = RunStatistics{{1, 0, 2, 5}, {1, 0, 2, 5}, {1, 0, 2, 5}};
  report.cells[0].runs = {{3, kNone, 7.0, kNone, 1.25}};
  report.cells[0].curves = {{"entropy", {10, 20}, {{1, 0, 2, 5}, {2, 1, 3, 5}}}};
  report.arms.emplace_back();
  report.comparisons.push_back(
      {0, 1, ReportScore::kEvaluation, true, {0.25, 0, 0.4, 9}, {}, {}, -1, {}, {}});
  report.comparisons[0].by_task = {{0, {0.75, 0.6, 0.9, 9}, 1}};
  report.heading = "Shape on a task";
  report.answer = "One sentence.";
  report.lines.emplace_back();
  report.lines[0].arms = {0, 0};
  report.lines[0].values = {"4", "8"};
  report.lines[0].standings = {Standing::kLeads, Standing::kLower};
  report.lines[0].ahead = {std::nullopt, Estimate{3, 1, 5, 10}};
  report.lines[0].chance = 0.01;
  report.lines[0].differ = true;
  report.lines[0].room = 2.5;
  report.lines[0].confounds = {"gradient steps (1 to 2)"};
  report.rankings.push_back({-1, {0}, 0, false, 1});
  report.troubles.push_back({TroubleKind::kCollapsed, 0, 50, {9, 8, 10, 5}, {1, 0, 2, 5}});
  report.instruments = {{"epochs", "Epochs", "", 4.0}};
  report.calls.push_back({LineKind::kSetting, "gamma", true, "", "", 4, 8, 3, 1, 0.25});
  report.notes = {"One note."};
  return report;
}

TEST(StudyJson, HasTheKeysOfItsFormat) {
  const std::string text =
      study_report_json(small_report(), {"2026-01-01T00:00:00Z", "0.1.0", "abc", {"report", "x"}});
  EXPECT_EQ(text.back(), '\n');
  const json j = json::parse(text);
  for (const char* key : {"format",      "kind",
                          "title",       "created",
                          "version",     "revision",
                          "command",     "bootstrap",
                          "studies",     "tasks",
                          "cells",       "arms",
                          "comparisons", "lines",
                          "instruments", "calls",
                          "notes",       "heading",
                          "answer",      "rankings",
                          "troubles",    "training_leaves_out"}) {
    EXPECT_TRUE(j.contains(key)) << key;
  }
  EXPECT_EQ(j["format"], 3);
  EXPECT_EQ(j["command"], json({"report", "x"}));
  EXPECT_TRUE(j["tasks"][0]["random_score"].is_null());
  const json& cell = j["cells"][0];
  EXPECT_EQ(cell["changes"]["num_envs"], "8");
  EXPECT_TRUE(cell["scores"]["training"].is_null());
  EXPECT_EQ(cell["scores"]["evaluation"]["median"]["high"], 2.0);
  EXPECT_TRUE(cell["runs"][0]["training"].is_null());
  EXPECT_EQ(cell["runs"][0]["evaluation"], 7.0);
  EXPECT_EQ(cell["curves"][0]["steps"], json({10.0, 20.0}));
  EXPECT_EQ(cell["curves"][0]["iqm"][1]["value"], 2.0);
  EXPECT_TRUE(j["arms"][0]["normalised"].is_null());
  EXPECT_EQ(j["comparisons"][0]["score"], "evaluation");
  EXPECT_EQ(j["comparisons"][0]["result"], "b");
  const json& by_task = j["comparisons"][0]["by_task"][0];
  EXPECT_EQ(by_task["task"], 0);
  EXPECT_EQ(by_task["probability"]["low"], 0.6);
  EXPECT_EQ(by_task["result"], "a");
  EXPECT_TRUE(j["comparisons"][0]["difference"].is_null());
  const json& line = j["lines"][0];
  EXPECT_EQ(line["standings"], json({"leads", "lower"}));
  EXPECT_TRUE(line["ahead"][0].is_null());
  EXPECT_EQ(line["ahead"][1]["high"], 5.0);
  EXPECT_EQ(line["chance"], 0.01);
  EXPECT_TRUE(j["rankings"][0]["task"].is_null());
  EXPECT_EQ(j["troubles"][0]["kind"], "collapsed");
  EXPECT_EQ(j["troubles"][0]["before"]["low"], 8.0);
  EXPECT_EQ(j["instruments"][0]["constant"], 4.0);
  EXPECT_EQ(line["room"], 2.5);
  EXPECT_EQ(line["confounds"], json({"gradient steps (1 to 2)"}));
  EXPECT_EQ(j["calls"][0]["later"], "larger gamma");
  EXPECT_EQ(j["calls"][0]["later_better"], 3);
  EXPECT_EQ(j["calls"][0]["earlier"], "smaller gamma");
  EXPECT_EQ(j["calls"][0]["chance"], 0.25);
  EXPECT_EQ(j["notes"], json({"One note."}));
}

}  // namespace
}  // namespace broadloom
