// Reports of studies that tune a key: arms are merged over its values, and choices are fair.
#include "research/report/tuned_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "research/report/report_tables.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

// Shapes 4x16 and 16x4 at three rates: cells 0 to 2 and 3 to 5.
StudyPlan rates_plan(int seeds, const std::string& more = "") {
  return plan_text("seeds = " + std::to_string(seeds) + "\npoints = 4\n" + more +
                   "[base]\ntotal_timesteps = 102400\n[shapes]\nlist = ['4x16', '16x4']\n"
                   "[grid]\nlearning_rate = [1e-4, 1e-3, 1e-2]\n");
}

class TunedReport : public PlantedTest {
 protected:
  Result<StudyReport> tuned(const std::string& name,
                            const std::vector<std::string>& keys = {"learning_rate"}) const {
    StudyReportOptions options{2000, 300, 1, 1};
    options.tuned = keys;
    return make_study_report({path(name)}, options);
  }
};

bool mentions(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_F(TunedReport, MergesTheValuesOfAnArm) {
  const StudyPlan plan = rates_plan(10);
  // 4x16 is best at 1e-3 and 16x4 at 1e-2, which is an edge.
  plant(plan, "s", [](int cell, int seed) {
    const double base[] = {100, 300, 200, 50, 60, 150};
    return base[cell] + seed;
  });
  const StudyReport r = tuned("s").take();
  ASSERT_EQ(r.cells.size(), 2U);
  EXPECT_EQ(r.cells[0].name, "4x16");
  EXPECT_EQ(r.cells[1].name, "16x4");
  ASSERT_TRUE(r.cells[0].tuned && r.cells[1].tuned);
  EXPECT_EQ(r.cells[0].tuned->values, (std::vector<std::string>{"1e-04", "0.001", "0.01"}));
  EXPECT_EQ(r.cells[0].tuned->best, 1);
  EXPECT_EQ(r.cells[1].tuned->best, 2);
  EXPECT_FALSE(r.cells[0].tuned->at_edge);
  EXPECT_TRUE(r.cells[1].tuned->at_edge);
  EXPECT_EQ(r.cells[0].counts.finished, 30);
  EXPECT_EQ(r.cells[0].samples.finished, 10);
  ASSERT_EQ(r.cells[0].runs.size(), 10U);
  EXPECT_EQ(r.cells[0].runs[2].evaluation, 300 + 3 + 100);  // planted evaluations are 100 higher
  EXPECT_DOUBLE_EQ(r.cells[1].evaluation->mean.value, 150 + 5.5 + 100);
  ASSERT_EQ(r.arms.size(), 2U);
  EXPECT_EQ(r.comparisons.at(1).result, 1);
  EXPECT_TRUE(mentions(r.notes, "edge")) << r.notes.size();
  EXPECT_TRUE(mentions(r.notes, "learning_rate is chosen for each arm"));
  plant(plan_text("seeds = 4\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\n"
                  "list = ['4x16', '16x4']\n[grid]\nlearning_rate = [1e-3, 1e-2]\n"
                  "gamma = [0.9, 0.99]\n"),
        "two", [](int cell, int seed) { return 10.0 * cell + seed; });
  EXPECT_TRUE(mentions(tuned("two", {"learning_rate", "gamma"}).take().notes,
                       "learning_rate and gamma are chosen for each arm"));
  EXPECT_TRUE(mentions(r.notes, "may lie beyond: 16x4 (learning_rate 0.01)."));
  EXPECT_NE(r.answer.find("higher with N = 4"), std::string::npos) << r.answer;
}

// The verdict would follow from which of two rates is picked: it is not made.
TEST_F(TunedReport, MakesNoCallThatHangsOnTheChoice) {
  const StudyPlan plan = rates_plan(10);
  plant(plan, "s", [](int cell, int seed) {
    switch (cell) {
      case 0:
        return 100.0 + seed;
      case 1:  // as good for all one can tell, and far worse in its mean
        return seed == 4 ? -500.0 : 99.9 + seed;
      case 3:
        return 80.0 + seed;
      default:
        return 10.0 + seed;
    }
  });
  const StudyReport picked = report({"s"});  // every rate an arm of its own
  EXPECT_TRUE(std::any_of(picked.comparisons.begin(), picked.comparisons.end(),
                          [](const ReportComparison& c) { return c.result != 0; }));
  const StudyReport r = tuned("s").take();
  const auto found = std::find_if(r.comparisons.begin(), r.comparisons.end(), [](const auto& c) {
    return c.score == ReportScore::kEvaluation;
  });
  ASSERT_NE(found, r.comparisons.end());
  EXPECT_EQ(found->result, 0);
  EXPECT_TRUE(found->hangs_on_choice);
  EXPECT_TRUE(mentions(r.notes, "Not called"));
  EXPECT_EQ(r.answer,
            "On CartPole-v1 at B = 64, arms with other N differ beyond chance, but another "
            "learning_rate that is as good would change the call.");
}

// Evaluations choose and do not tell the rates apart; training returns of the rates are far apart.
TEST_F(TunedReport, TheChoiceIsPartOfTrainingReturnsToo) {
  plant(rates_plan(10), "s", [](int cell, int seed) {
    const double base[] = {300, 100, 100, 200, 200, 200};
    return base[cell] + 0.1 * seed;
  });
  // The first rate is a little ahead in each fold, but not for sure.
  change("s",
         "UPDATE evaluations SET mean_return = (SELECT 10 * (seed % 4) + (cell_id % 3 = 1) "
         "FROM runs WHERE id = run_id)");
  const StudyReport r = tuned("s").take();
  const auto training = [&](const auto& c) { return c.score == ReportScore::kTraining; };
  const auto found = std::find_if(r.comparisons.begin(), r.comparisons.end(), training);
  ASSERT_NE(found, r.comparisons.end());
  EXPECT_EQ(r.cells[0].tuned->chosen, std::vector<int>(10, 0));
  EXPECT_EQ(found->probability.value, 1.0);  // 300 and 200
  EXPECT_TRUE(found->hangs_on_choice);       // with another rate, 100 and 200
  EXPECT_EQ(found->result, 0);
}

TEST_F(TunedReport, IsAskedForByTheStudyItself) {
  const StudyPlan plan = rates_plan(4, "tuned = 'learning_rate'\n");
  EXPECT_NE(plan.definition.find("\ntuned learning_rate\n"), std::string::npos);
  EXPECT_NE(plan.hash, rates_plan(4).hash);
  plant(plan, "s", [](int cell, int seed) { return 10.0 * cell + seed; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.tuned, std::vector<std::string>{"learning_rate"});
  EXPECT_EQ(r.cells.size(), 2U);
}

// A rate at which runs fail is not chosen, be its other runs ever so good.
TEST_F(TunedReport, LeavesOutValuesThatFail) {
  const StudyPlan plan = rates_plan(6);
  plant(
      plan, "s", [](int cell, int seed) { return (cell % 3 == 2 ? 1000.0 : 100.0 + cell) + seed; },
      [](int cell, int seed) { return cell == 2 && seed == 5; });
  const StudyReport r = tuned("s").take();
  EXPECT_EQ(r.cells[0].tuned->left_out, std::vector<std::string>{"0.01"});
  EXPECT_EQ(r.cells[0].tuned->best, 1);
  EXPECT_FALSE(r.cells[0].tuned->at_edge);  // beyond it runs fail
  EXPECT_EQ(r.cells[0].counts.failed, 1);
  EXPECT_EQ(r.cells[0].samples.failed, 0);
  EXPECT_EQ(r.cells[1].tuned->best, 2);
  EXPECT_TRUE(mentions(r.notes, "cannot be chosen: 4x16 (learning_rate 0.01)."));
  EXPECT_TRUE(mentions(r.notes, "Runs that failed with values or seeds that no score uses: 1 of "));
  EXPECT_FALSE(mentions(r.notes, "look better"));
  EXPECT_TRUE(mentions(r.notes, "Failed: 4x16 learning_rate=0.01, seed 5: the loss is not finite"))
      << fmt::format("{}", fmt::join(r.notes, "\n"));
  const ReportTable table = report_tables(r)[0];
  EXPECT_EQ(table.title, "Cells: 35 of 36 runs have finished");
  EXPECT_EQ(table.columns[4], "seeds with every value");
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [](const auto& cells) { return cells[0] == "4x16"; });
  ASSERT_NE(row, table.rows.end());
  EXPECT_EQ((*row)[1], "17 of 18, 1 failed");
  EXPECT_EQ((*row)[4], "6 of 6");
}

// With equally many failures, all values can be chosen, from the seeds that none of them failed.
TEST_F(TunedReport, LeavesOutSeedsAtWhichAnyValueFails) {
  const StudyPlan plan = rates_plan(6);
  plant(
      plan, "s", [](int cell, int seed) { return 10.0 * cell + seed; },
      [](int cell, int seed) { return cell < 3 && seed == 6 - cell; });
  const StudyReport r = tuned("s").take();
  ASSERT_TRUE(r.cells[0].tuned);
  EXPECT_TRUE(r.cells[0].tuned->left_out.empty());
  EXPECT_EQ(r.cells[0].tuned->seeds, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(r.cells[0].counts.finished, 15);
  EXPECT_EQ(r.cells[0].counts.failed, 3);
  EXPECT_EQ(r.cells[0].samples.finished, 3);
  EXPECT_EQ(r.cells[0].samples.failed, 3);
  EXPECT_TRUE(mentions(r.notes, "look better than they are: 3 of 4x16."));
  EXPECT_TRUE(mentions(r.notes, "a selection: 4x16 (3 of 6)."));
  EXPECT_DOUBLE_EQ(r.cells[0].evaluation->mean.value, 20 + 2 + 100);
}

TEST_F(TunedReport, WaitsForRunsThatAreMissing) {
  const StudyPlan plan = rates_plan(4);
  plant(plan, "s", [](int cell, int seed) -> std::optional<double> {
    if (cell == 1 && seed > 2) return std::nullopt;
    return 10.0 * cell + seed;
  });
  const StudyReport r = tuned("s").take();
  EXPECT_EQ(r.cells[0].samples.finished, 2);
  EXPECT_EQ(r.cells[0].samples.pending, 2);
  EXPECT_EQ(r.cells[0].counts.finished, 10);
  EXPECT_EQ(r.cells[0].counts.pending, 2);
  EXPECT_EQ(r.cells[1].samples.finished, 4);
  EXPECT_EQ(r.studies[0].runs.finished, 22);
  EXPECT_TRUE(mentions(r.notes, "2 of 24 runs of "));
}

// A part of a study may have no seed with every value. Its runs are counted all the same.
TEST_F(TunedReport, CountsRunsOfSeedsWithoutEveryValue) {
  const StudyPlan plan = rates_plan(3);
  plant(plan, "s", [](int cell, int seed) -> std::optional<double> {
    if ((cell + seed) % 3 != 0) return std::nullopt;
    return 10.0 * cell + seed;
  });
  const StudyReport r = tuned("s").take();
  EXPECT_EQ(r.studies[0].runs.finished, 6);
  EXPECT_EQ(r.cells[0].counts.finished, 3);
  EXPECT_EQ(r.cells[0].samples.finished, 0);
  EXPECT_EQ(r.answer,
            "No arm has two seeds that finished with every value of learning_rate, so there is no "
            "result yet.");
  EXPECT_TRUE(mentions(r.notes, "12 of 18 runs of "));
  const ReportTable table = report_tables(r)[0];
  EXPECT_EQ(table.title, "Cells: 6 of 18 runs have finished");
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"4x16", "3 of 9", "-", "-", "0 of 3", "-"}));
}

TEST_F(TunedReport, RefusesKeysThatCannotBeTuned) {
  const StudyPlan plan = rates_plan(4);
  plant(plan, "s", [](int cell, int seed) { return 10.0 * cell + seed; });
  const Status none = tuned("s", {"ent_coef"}).status();
  EXPECT_EQ(none.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(none.message().find("ent_coef"), std::string::npos);
  EXPECT_EQ(tuned("s", {"num_envs"}).status().kind(), ErrorKind::kInvalidConfig);
  const Status misspelt = tuned("s", {"learning_rte"}).status();
  EXPECT_NE(misspelt.message().find("did you mean 'learning_rate'?"), std::string::npos)
      << misspelt.message();
}

// The table of cells names the chosen value, and values that are as good.
TEST_F(TunedReport, NamesTheChoiceBesideTheNumber) {
  const StudyPlan plan = rates_plan(6);
  plant(plan, "s", [](int cell, int seed) { return (cell == 1 ? 100.5 : 100.0) + seed; });
  const std::vector<ReportTable> tables = report_tables(tuned("s").take());
  ASSERT_FALSE(tables.empty());
  const auto& columns = tables[0].columns;
  const auto column = std::find(columns.begin(), columns.end(), "best learning_rate");
  ASSERT_NE(column, columns.end());
  const auto place = static_cast<std::size_t>(column - columns.begin());
  EXPECT_EQ(tables[0].rows[0][place], "0.001; alike: 1e-04, 0.01");
}

}  // namespace
}  // namespace broadloom
