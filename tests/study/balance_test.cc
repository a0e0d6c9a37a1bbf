#include "research/study/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "research/study/study_part.h"

namespace broadloom {
namespace {

// The best division of the runs into `count` parts, by brute force.
double best_longest(const std::vector<PredictedRun>& runs, std::size_t count) {
  double best = INFINITY;
  std::size_t cuts = 1;
  for (std::size_t i = 0; i < runs.size(); ++i) cuts *= count;
  for (std::size_t cut = 0; cut < cuts; ++cut) {
    std::vector<double> loads(count, 0.0);
    std::size_t rest = cut;
    for (const PredictedRun& run : runs) {
      loads[rest % count] += run.seconds;
      rest /= count;
    }
    best = std::fmin(best, *std::max_element(loads.begin(), loads.end()));
  }
  return best;
}

std::vector<PredictedRun> some_runs(std::size_t count, std::uint32_t draw) {
  std::vector<PredictedRun> runs;
  for (std::size_t i = 0; i < count; ++i) {
    // Arbitrary numbers that differ widely.
    const double u = std::fmod((static_cast<double>(i) + 1.0) * 0.618034 * (draw + 1.0), 1.0);
    runs.push_back({static_cast<std::int64_t>(i) + 1, std::exp(4.0 * u)});
  }
  return runs;
}

TEST(Balance, EveryRunIsInOnePartAndGrahamsBoundHolds) {
  for (std::uint32_t draw = 0; draw < 12; ++draw) {
    for (const std::size_t count : {1U, 2U, 3U}) {
      const std::vector<PredictedRun> runs = some_runs(8, draw);
      const std::vector<RunPart> parts = balance(runs, count);
      ASSERT_EQ(parts.size(), count);
      std::vector<std::int64_t> all;
      for (const RunPart& part : parts) {
        EXPECT_TRUE(std::is_sorted(part.runs.begin(), part.runs.end()));
        double seconds = 0.0;
        for (const std::int64_t id : part.runs) {
          seconds += runs[static_cast<std::size_t>(id) - 1].seconds;
        }
        EXPECT_NEAR(part.seconds, seconds, 1e-9 * seconds);
        all.insert(all.end(), part.runs.begin(), part.runs.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<std::int64_t> expected(runs.size());
      std::iota(expected.begin(), expected.end(), 1);
      EXPECT_EQ(all, expected);
      const double bound = 4.0 / 3.0 - 1.0 / (3.0 * static_cast<double>(count));
      EXPECT_LE(longest_seconds(parts), bound * best_longest(runs, count) + 1e-9);
    }
  }
}

// Taking every second run would put all long runs together here, since every other cell is slow.
TEST(Balance, SlowCellsAreSpread) {
  std::vector<PredictedRun> runs;
  for (std::int64_t id = 1; id <= 8; ++id) runs.push_back({id, id % 2 == 1 ? 90.0 : 10.0});
  const std::vector<RunPart> parts = balance(runs, 2);
  EXPECT_DOUBLE_EQ(parts[0].seconds, 200.0);
  EXPECT_DOUBLE_EQ(parts[1].seconds, 200.0);
  double every_second = 0.0;
  for (const PredictedRun& run : runs) {
    if (StudyPart{1, 2}.holds(run.id)) every_second += run.seconds;
  }
  EXPECT_DOUBLE_EQ(every_second, 360.0);
}

TEST(Balance, TheOrderOfTheRunsChangesNothingAndNoPartIsEmpty) {
  std::vector<PredictedRun> runs = some_runs(9, 3);
  for (std::size_t i = 0; i < 4; ++i) runs.push_back({static_cast<std::int64_t>(10 + i), 0.0});
  const std::vector<RunPart> parts = balance(runs, 5);
  std::reverse(runs.begin(), runs.end());
  const std::vector<RunPart> again = balance(runs, 5);
  for (std::size_t p = 0; p < parts.size(); ++p) EXPECT_EQ(parts[p].runs, again[p].runs);
  const std::vector<RunPart> most = balance(runs, 100);
  EXPECT_EQ(most.size(), runs.size());
  for (const RunPart& part : most) EXPECT_EQ(part.runs.size(), 1U);
  EXPECT_TRUE(balance({}, 3).empty());
  EXPECT_EQ(longest_seconds({}), 0.0);
}

TEST(Runs, TextIsReadBackAndChecked) {
  for (const char* text : {"1", "1-3", "2,4-5,9", "1-20"}) {
    const Result<std::vector<std::int64_t>> runs = parse_runs(text, 20);
    ASSERT_TRUE(runs.ok()) << runs.status().message();
    EXPECT_EQ(runs_text(runs.value()), text);
  }
  EXPECT_EQ(parse_runs("2,4-5", 9).value(), (std::vector<std::int64_t>{2, 4, 5}));
  for (const char* text : {"", "0", "-1", "21", "3-2", "1-", "4,4", "5,1", "1-21", "a", "1-9,5"}) {
    const Result<std::vector<std::int64_t>> runs = parse_runs(text, 20);
    EXPECT_EQ(runs.status().kind(), ErrorKind::kInvalidConfig) << text;
    EXPECT_NE(runs.status().message().find("1 to 20"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace broadloom
