#include "research/report/report_lines.h"

#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

using ReportLines = PlantedTest;

TEST_F(ReportLines, ThatStandAtTheSmallestChanceAreAllAskedAgain) {
  // Three learning rates that are far apart, on two tasks. Of 20 permutations no chance is below 1
  // in 21, which two lines make 2 in 21.
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

}  // namespace
}  // namespace broadloom
