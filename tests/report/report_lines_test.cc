#include "research/report/report_lines.h"

#include <algorithm>
#include <cmath>

#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

using ReportLines = PlantedTest;

TEST_F(ReportLines, AtTheSmallestChanceAllGetMorePermutations) {
  // Three learning rates far apart, on two tasks. With 20 permutations no chance is below 1 in 21;
  // times two lines that is 2 in 21.
  const StudyPlan plan = plan_text(
      "seeds = 4\npoints = 4\n[base]\ntotal_timesteps = 1024\n[grid]\n"
      "learning_rate = [1e-4, 2e-4, 3e-4]\nenv_id = ['CartPole-v1', 'Acrobot-v1']\n");
  plant(plan, "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"}, 1, 20);
  ASSERT_EQ(r.lines.size(), 2U);
  for (const ReportLine& line : r.lines) {
    EXPECT_TRUE(is_more_than_chance(line, 2)) << line.chance;
  }
}

// Ten neighbouring pairs of learning rates; the later one is far better at the places in `up`, and
// far worse at those in `down`.
TEST_F(ReportLines, ChancesOfCallsAreBinomial) {
  std::string rates;
  for (int i = 1; i <= 11; ++i) rates += (i > 1 ? ", " : "") + std::to_string(i) + "e-4";
  const StudyPlan plan =
      plan_text("seeds = 4\npoints = 2\n[base]\ntotal_timesteps = 1024\n[grid]\nlearning_rate = [" +
                rates + "]\n");
  const auto calls = [&](const std::string& name, const std::vector<int>& up,
                         const std::vector<int>& down) {
    plant(plan, name, [&](int cell, int seed) {
      const auto steps = [&](const std::vector<int>& places) {
        return std::count_if(places.begin(), places.end(),
                             [&](int place) { return place <= cell; });
      };
      return 100.0 * static_cast<double>(steps(up) - steps(down)) + 0.01 * seed;
    });
    const StudyReport r = report({name});
    EXPECT_EQ(r.calls.size(), 1U);
    EXPECT_EQ(r.calls[0].pairs, 10);
    EXPECT_EQ(r.calls[0].later_better, static_cast<int>(up.size()));
    EXPECT_EQ(r.calls[0].earlier_better, static_cast<int>(down.size()));
    return r.calls[0].chance;
  };
  EXPECT_EQ(calls("none", {}, {}), 1.0);
  EXPECT_NEAR(calls("one", {3}, {}), 2 * (1 - 0.776330), 1e-5);  // 0.975^10
  // 0.975^10 + 10 x 0.025 x 0.975^9.
  EXPECT_NEAR(calls("two", {3}, {5, 7}), 2 * (1 - 0.776330 - 0.199059), 1e-5);
  EXPECT_LT(calls("many", {1, 2, 3, 4, 5, 6}, {}), 1e-4);
}

// Under both matches, 4x16 and 8x8 have the same runs, so that their pair counts once.
TEST_F(ReportLines, APairOfTheSameRunsIsCalledOnce) {
  const std::string rest =
      "seeds = 4\npoints = 2\n[base]\ntotal_timesteps = 1024\n[shapes]\n"
      "list = ['4x16', '8x8', '16x4']\n";
  const auto score = [](int cell, int seed) { return 100.0 * cell + seed; };
  plant(plan_text("match = 'minibatch_count'\n" + rest), "count", score);
  plant(plan_text("match = 'minibatch_size'\n" + rest), "size", score);
  for (const char* store : {"count", "size"}) {
    change(store, "UPDATE runs SET parameters_hash = (cell_id || 'of' || seed) WHERE cell_id < 3");
  }
  const StudyReport r = report({"count", "size"});
  const auto calls = std::find_if(r.calls.begin(), r.calls.end(), [](const LineCalls& c) {
    return c.kind == LineKind::kWidthOfBatch;
  });
  ASSERT_NE(calls, r.calls.end());
  EXPECT_EQ(calls->lines, 2);
  EXPECT_EQ(calls->pairs, 3);
  EXPECT_EQ(calls->later_better, 3);
}

TEST_F(ReportLines, RoomIsForArmsWithoutACall) {
  const auto room = [&](const std::string& name, double second, double third) {
    plant(ladder_plan(6), name, [=](int cell, int seed) {
      return around(cell == 0 ? 100.0 : cell == 1 ? second : third, seed);
    });
    return report({name}).lines[0];
  };
  const ReportLine apart = room("apart", 200.0, 300.0);
  EXPECT_EQ(apart.room, 0.0);
  const ReportLine two = room("two", 100.0, 300.0);
  EXPECT_EQ(two.room, 0.0);  // both are below the leader; the two are not compared
  const ReportLine level = room("level", 200.0, 201.0);
  ASSERT_EQ(level.standings[1], Standing::kAlike);
  EXPECT_EQ(level.room, std::max(std::abs(level.ahead[1]->low), std::abs(level.ahead[1]->high)));
  EXPECT_LT(level.room, 20.0);  // without the lower arm
  const ReportLine none = room("none", 100.0, 100.0);
  EXPECT_FALSE(none.differ);
  EXPECT_GT(none.room, 0.0);
}

}  // namespace
}  // namespace broadloom
