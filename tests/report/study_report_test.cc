#include "research/report/study_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "research/report/report_lines.h"
#include "research/report/study_json.h"
#include "research/stats/run_statistics.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

using MakeReport = PlantedTest;

void expect_same(const Estimate& a, const Estimate& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.count, b.count);
}

const ReportComparison& comparison(const StudyReport& report, int a, int b,
                                   ReportScore score = ReportScore::kTraining) {
  for (const ReportComparison& c : report.comparisons) {
    if (c.a == a && c.b == b && c.score == score) return c;
  }
  ADD_FAILURE() << "no comparison of " << a << " and " << b;
  return report.comparisons.at(0);
}

TEST(RunStatistics, MedianAndQuartilesByHand) {
  const RunStatistics s = run_statistics({100, 3, 1, -50}, {.replicates = 500});
  EXPECT_EQ(s.iqm.value, 2.0);
  EXPECT_EQ(s.mean.value, 13.5);
  EXPECT_EQ(s.median.value, 2.0);
  EXPECT_EQ(run_statistics({9, 1, 4}, {.replicates = 500}).median.value, 4.0);
  // A replicate's median of two runs is 0, 1/2 or 1, so the interval reaches from end to end.
  const RunStatistics two = run_statistics({0, 1}, {.replicates = 500});
  EXPECT_EQ(two.median.low, 0.0);
  EXPECT_EQ(two.median.high, 1.0);
  EXPECT_TRUE(std::isnan(run_statistics({7}, {}).mean.low));
}

TEST_F(MakeReport, CellsHaveTheScoresOfTheirRuns) {
  const StudyPlan plan = ladder_plan(4);
  plant(plan, "s", [](int cell, int seed) { return 100.0 * cell + 8.0 * seed; });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.cells.size(), 3U);
  const ReportCell& cell = r.cells[1];
  EXPECT_EQ(cell.name, "8x8");
  EXPECT_EQ(cell.counts.finished, 4);
  // Runs 108, 116, 124, 132.
  EXPECT_EQ(cell.training->iqm.value, 120.0);
  EXPECT_EQ(cell.training->mean.value, 120.0);
  EXPECT_EQ(cell.evaluation->mean.value, 220.0);
  EXPECT_EQ(cell.seconds.value, 4.0);
  // A straight line from a quarter of the score to all of it.
  EXPECT_DOUBLE_EQ(cell.area->mean.value, 0.625 * 120.0);
  expect_same(cell.training->iqm,
              aggregate(make_scores({{108, 116, 124, 132}}).value(), {2000, 1, 1}).value().iqm);
  ASSERT_EQ(cell.curves.size(), 2U);
  EXPECT_EQ(cell.curves[0].key, "episodic_return");
  EXPECT_EQ(cell.curves[0].positions, (std::vector<double>{25600, 51200, 76800, 102400}));
  EXPECT_EQ(cell.curves[0].iqm[1].value, 60.0);
  EXPECT_EQ(cell.curves[1].iqm[3].value, 0.5);
  EXPECT_EQ(cell.time_curve.positions, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(cell.time_curve.iqm[3].value, 120.0);
  // Profiles of all cells have the thresholds of their task: evaluations of 108 to 332.
  ASSERT_EQ(cell.profile.thresholds.size(), 51U);
  EXPECT_EQ(cell.profile.thresholds.front(), 108.0);
  EXPECT_EQ(cell.profile.thresholds.back(), 332.0);
  EXPECT_EQ(cell.profile.shares.front().value, 1.0);
  EXPECT_EQ(cell.profile.shares.back().value, 0.0);
  ASSERT_EQ(r.instruments.size(), 1U);
  EXPECT_EQ(r.instruments[0].title, "Entropy");
  // CartPole-v1 from 22.33 to 500.
  EXPECT_NEAR(r.arms[1].normalised->training->iqm.value, (120 - 22.33) / (500 - 22.33), 1e-4);
}

// low + (high - low) * 50 / 50 is below high for these numbers.
TEST_F(MakeReport, NoRunIsAboveTheLastThreshold) {
  plant(ladder_plan(2), "s", [](int cell, int) { return cell == 0 ? -57.3 : -200.0; });
  change("s", "DELETE FROM evaluations");
  const StudyReport r = report({"s"});
  const PerformanceProfile& profile = r.cells[0].profile;
  ASSERT_LT(-200.0 + (-57.3 + 200.0) * 50 / 50, -57.3);
  EXPECT_EQ(profile.thresholds.back(), -57.3);
  EXPECT_EQ(profile.shares.back().value, 0.0);
  EXPECT_GT(r.arms[0].normalised->profile.thresholds.size(), 1U);
  EXPECT_EQ(r.arms[0].normalised->profile.shares.back().value, 0.0);
}

TEST_F(MakeReport, ComparisonsEqualTheStatistics) {
  const StudyPlan plan = ladder_plan(5);
  const auto score = [](int cell, int seed) { return around(2.0 * cell, seed); };
  plant(plan, "s", score);
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.comparisons.size(), 6U);  // three pairs, two scores
  std::vector<std::vector<double>> runs(3);
  for (int cell = 0; cell < 3; ++cell) {
    for (int seed = 1; seed <= 5; ++seed)
      runs[static_cast<std::size_t>(cell)].push_back(score(cell, seed));
  }
  const ReportComparison& c = comparison(r, 0, 2);
  expect_same(c.probability,
              probability_of_improvement(make_scores({runs[0]}).value(),
                                         make_scores({runs[2]}).value(), {2000, 1, 1})
                  .value());
  EXPECT_DOUBLE_EQ(c.difference->value, -4.0);
  EXPECT_LT(c.difference->low, -4.0);
  EXPECT_GT(c.difference->high, -4.0);
  EXPECT_TRUE(c.equal.gradient_steps && c.equal.batch_size && c.equal.environment_steps);
  EXPECT_FALSE(c.equal.shape);
  // The IQM rises by 2 from N = 4 to 8 to 16, within its noise.
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].kind, LineKind::kWidthOfBatch);
  EXPECT_EQ(r.lines[0].fixed, 64);
  EXPECT_EQ(r.lines[0].arms, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(r.lines[0].leader, 2);
  EXPECT_DOUBLE_EQ(r.lines[0].ahead[0]->value, 4.0);
  EXPECT_FALSE(r.lines[0].ahead[2].has_value());
  EXPECT_FALSE(r.lines[0].differ);
}

TEST_F(MakeReport, ThreadsChangeNoBit) {
  plant(ladder_plan(5), "s", [](int cell, int seed) { return around(3.0 * cell, seed); });
  const std::string one = study_report_json(report({"s"}, 1), {});
  EXPECT_EQ(study_report_json(report({"s"}, 2), {}), one);
  EXPECT_EQ(study_report_json(report({"s"}, 5), {}), one);
}

TEST_F(MakeReport, TooFewRunsAreNotCalledDifferent) {
  const auto apart = [](int cell, int seed) { return 1000.0 * cell + seed; };
  plant(ladder_plan(3), "three", apart);
  plant(ladder_plan(4), "four", apart);
  // All runs of one beat all of the other: by chance in 2 of 20 cases with three runs, in 2 of 70
  // with four.
  EXPECT_EQ(comparison(report({"three"}), 0, 2).probability.high, 0.0);
  EXPECT_EQ(comparison(report({"three"}), 0, 2).result, 0);
  EXPECT_EQ(comparison(report({"four"}), 0, 2).result, -1);
}

TEST_F(MakeReport, AnIntervalAloneCallsNoDifference) {
  const StudyPlan plan = plan_text(
      "seeds = 5\npoints = 4\n[base]\ntotal_timesteps = 102400\n[grid]\nlearning_rate = [1e-3, "
      "1e-4]\n");
  // 22 of 25 pairs, which five equal runs reach in 14 of 252 cases; and 23, which they reach in 8.
  const double first[] = {1, 2, 3, 4, 8}, above[] = {5, 6, 7, 9, 10}, further[] = {5, 6, 9, 9, 10};
  const auto score = [&](const double* second) {
    return [&first, second](int cell, int seed) { return (cell == 0 ? first : second)[seed - 1]; };
  };
  plant(plan, "near", score(above));
  plant(plan, "far", score(further));
  const StudyReport near = report({"near"}), far = report({"far"});
  EXPECT_LT(comparison(near, 0, 1).probability.high, 0.5);
  EXPECT_EQ(comparison(near, 0, 1).result, 0);
  EXPECT_FALSE(near.lines[0].differ);
  EXPECT_DOUBLE_EQ(near.lines[0].chance, 14.0 / 252);
  EXPECT_EQ(comparison(far, 0, 1).result, -1);
  EXPECT_TRUE(far.lines[0].differ);
}

TEST_F(MakeReport, RunsWithoutAReturnAreLeftOutAndNamed) {
  plant(ladder_plan(3), "s", [](int cell, int seed) {
    return cell == 0 || (cell == 1 && seed == 2) ? kNoReturn : 10.0;
  });
  const StudyReport r = report({"s"});
  EXPECT_FALSE(r.cells[0].training.has_value());
  EXPECT_TRUE(r.cells[0].curves.size() == 1 && r.cells[0].curves[0].key == "entropy");
  EXPECT_EQ(r.cells[1].training->mean.count, 2);
  EXPECT_EQ(r.cells[2].training->mean.count, 3);
  EXPECT_FALSE(r.arms[0].normalised.has_value());
  for (const ReportComparison& c : r.comparisons) EXPECT_NE(c.a, 0);
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].score, ReportScore::kTraining);  // the first cell has no evaluation
  EXPECT_EQ(std::count(r.notes.begin(), r.notes.end(),
                       "4x16: 3 of 3 runs ended no episode; they have no training return and are "
                       "excluded."),
            1);
}

TEST_F(MakeReport, AnotherTimeLimitOrOptionIsNotNormalised) {
  const auto ten = [](int, int) { return 10.0; };
  plant(ladder_plan(2, "max_episode_steps = 200\n"), "short", ten);
  plant(ladder_plan(2, "max_episode_steps = 500\n"), "own", ten);
  plant(ladder_plan(2, "env_id = 'FrozenLake-v1'\nenv.is_slippery = false\n"), "lake", ten);
  const StudyReport limited = report({"short"});
  EXPECT_EQ(limited.tasks[0].name, "CartPole-v1 (max_episode_steps=200)");
  EXPECT_NE(limited.tasks[0].why_not.find("max_episode_steps is 200"), std::string::npos);
  EXPECT_TRUE(std::isnan(limited.tasks[0].random_score));
  EXPECT_FALSE(limited.arms[0].normalised.has_value());
  EXPECT_EQ(report({"own"}).tasks[0].name, "CartPole-v1");
  EXPECT_TRUE(report({"own"}).arms[0].normalised.has_value());
  EXPECT_EQ(report({"lake"}).tasks[0].name, "FrozenLake-v1 (is_slippery=false)");
  EXPECT_FALSE(report({"lake"}).arms[0].normalised.has_value());
}

TEST_F(MakeReport, AnArmHasACellOfEveryTask) {
  const StudyPlan plan = plan_text(
      "seeds = 4\npoints = 4\n[shapes]\nlist = ['4x16', '8x8']\n"
      "[[variants]]\nname = 'pole'\nenv_id = 'CartPole-v1'\ntotal_timesteps = 1024\n"
      "[[variants]]\nname = 'bot'\nenv_id = 'Acrobot-v1'\ntotal_timesteps = 2048\n");
  // The second shape is better on either task; a failed run takes its seed out of both.
  plant(
      plan, "s",
      [](int cell, int seed) {
        return (cell % 2 == 0 ? 200.0 : -300.0) + (cell >= 2 ? 50.0 : 0.0) + seed;
      },
      [](int cell, int seed) { return cell == 3 && seed == 2; });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.tasks.size(), 2U);
  ASSERT_EQ(r.arms.size(), 2U);
  EXPECT_EQ(r.arms[0].name, "4x16");
  EXPECT_EQ(r.arms[1].cells, (std::vector<int>{2, 3}));
  EXPECT_EQ(r.arms[1].other, "");
  EXPECT_EQ(r.arms[0].normalised->training->iqm.count, 8);
  EXPECT_EQ(r.arms[1].normalised->training->iqm.count, 6);
  const ReportComparison& c = comparison(r, 0, 1);
  EXPECT_EQ(c.probability.value, 0.0);
  EXPECT_EQ(c.result, -1);
  EXPECT_FALSE(c.difference.has_value());
}

TEST_F(MakeReport, ThreeMatchesOfOneGridAreThreeLines) {
  const std::string grid =
      "points = 4\nseeds = 4\n[base]\ntotal_timesteps = 2048\n"
      "[shapes]\nlist = ['4x8', '8x8', '16x8']\n";
  for (const char* match : {"minibatch_count", "minibatch_size", "gradient_steps"}) {
    plant(plan_text("match = '" + std::string(match) + "'\n" + grid), match,
          [](int cell, int seed) { return around(cell, seed); });
  }
  const StudyReport r = report({"minibatch_count", "minibatch_size", "gradient_steps"});
  EXPECT_EQ(r.studies.size(), 3U);
  EXPECT_EQ(r.tasks.size(), 1U);
  ASSERT_EQ(r.arms.size(), 9U);
  EXPECT_EQ(r.arms[4].name, "8x8 match=minibatch_size");
  EXPECT_EQ(r.arms[4].other, "match=minibatch_size");
  const auto count_kind = [&](LineKind kind) {
    return std::count_if(r.lines.begin(), r.lines.end(),
                         [&](const ReportLine& line) { return line.kind == kind; });
  };
  EXPECT_EQ(count_kind(LineKind::kWidth), 3);    // one for each match
  EXPECT_EQ(count_kind(LineKind::kSetting), 3);  // and the match, at each shape
  EXPECT_EQ(r.studies[2].adjust, "minibatches");
}

TEST_F(MakeReport, StoresWithOtherTasksJoinAndWithOtherBasesDoNot) {
  const auto ten = [](int cell, int seed) { return around(cell, seed); };
  plant(ladder_plan(4), "pole", ten);
  plant(ladder_plan(4, "env_id = 'Acrobot-v1'\n"), "bot", ten);
  plant(ladder_plan(4, "gamma = 0.9\n"), "gamma", ten);
  const StudyReport tasks = report({"pole", "bot"});
  ASSERT_EQ(tasks.arms.size(), 3U);
  EXPECT_EQ(tasks.arms[0].cells, (std::vector<int>{0, 3}));
  EXPECT_EQ(tasks.lines.size(), 2U);  // two tasks
  // Equal cells of one task are named by the settings in which their bases differ.
  const StudyReport bases = report({"pole", "gamma"});
  ASSERT_EQ(bases.arms.size(), 6U);
  EXPECT_EQ(bases.arms[0].name, "4x16 gamma=0.99");
  EXPECT_EQ(bases.arms[3].name, "4x16 gamma=0.9");
  EXPECT_EQ(bases.lines.size(), 5U);  // two ladders, and gamma at each of three shapes
  // If those do not concern learning, by the study; here by its file.
  plant(ladder_plan(4, "eval_episodes = 20\n"), "episodes", ten);
  const StudyReport studies = report({"pole", "episodes"});
  ASSERT_EQ(studies.arms.size(), 6U);
  EXPECT_EQ(studies.arms[3].name, "4x16 (episodes)");
  EXPECT_EQ(studies.lines.size(), 5U);
}

// A store of shapes 4x16 and 8x8, and one of 16x4 with another base.
class Bases : public PlantedTest {
 protected:
  static StudyPlan shapes(const std::string& list, const std::string& base) {
    return plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n" + base +
                     "[shapes]\nlist = [" + list + "]\n");
  }
  StudyReport beside(const std::string& base, const std::string& other = "other") const {
    const auto score = [](int cell, int seed) { return around(100.0 * cell, seed); };
    plant(shapes("'4x16', '8x8'", ""), "usual", score);
    plant(shapes("'16x4'", base), other, [](int, int seed) { return around(500.0, seed); });
    return report({"usual", other});
  }
};

TEST_F(Bases, WithOtherLearningAreNotOneLine) {
  const StudyReport gamma = beside("gamma = 0.9\n");
  ASSERT_EQ(gamma.arms.size(), 3U);
  EXPECT_EQ(gamma.arms[2].name, "16x4 gamma=0.9");
  EXPECT_EQ(gamma.arms[0].settings, (Overrides{{"gamma", "0.99"}}));
  ASSERT_EQ(gamma.lines.size(), 1U);
  EXPECT_EQ(gamma.lines[0].arms, (std::vector<int>{0, 1}));
  // With many keys the study is named instead: an algorithm sets many defaults.
  const StudyReport pqn = beside("algorithm = 'pqn'\n", "pqn");
  EXPECT_EQ(pqn.arms[2].name, "16x4 (pqn)");
  ASSERT_EQ(pqn.lines.size(), 1U);
  EXPECT_EQ(pqn.lines[0].arms, (std::vector<int>{0, 1}));
}

TEST_F(Bases, WithTheSameLearningAreOneLine) {
  const StudyReport r = beside("eval_episodes = 20\n");
  EXPECT_EQ(r.arms[2].name, "16x4");
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].arms.size(), 3U);
}

TEST_F(Bases, OlderStoresHaveTheDefaultOfANewKey) {
  const std::string forget = "UPDATE cells SET config = json_remove(config, '$.clip_schedule')";
  beside("clip_schedule = 'linear'\n");
  change("usual", forget);
  const StudyReport linear = report({"usual", "other"});
  EXPECT_EQ(linear.arms[0].name, "4x16 clip_schedule=constant");
  EXPECT_EQ(linear.lines[0].arms.size(), 2U);
  change("other", "UPDATE cells SET config = json_set(config, '$.clip_schedule', 'constant')");
  EXPECT_EQ(report({"usual", "other"}).lines[0].arms.size(), 3U);
}

TEST_F(Bases, DefaultsOfAnAlgorithmAreNamed) {
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_envs = 8\n"
                  "num_steps = 16\n[grid]\nalgorithm = ['ppo', 'pqn']\n"),
        "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].key, "algorithm");
  EXPECT_NE(r.answer.find(" differ too."), std::string::npos) << r.answer;
  for (const std::vector<std::string>& confounds :
       {r.lines[0].confounds, r.comparisons[0].confounds}) {
    for (const char* key : {"learning_rate", "hidden_sizes", "adam_eps"}) {
      EXPECT_EQ(std::count(confounds.begin(), confounds.end(), key), 1) << key;
    }
  }
}

TEST_F(MakeReport, TheSameStudyTwiceIsRefused) {
  plant(ladder_plan(1), "s", [](int, int) { return 1.0; });
  plant(ladder_plan(1), "again", [](int, int) { return 2.0; });
  const Status same = make_study_report({path("s"), path("again")}).status();
  EXPECT_EQ(same.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(same.message().find("the same study"), std::string::npos);
  // A source that one names is compared with none; two are of two studies.
  const auto add_source = [&](const char* store, const char* line) {
    change(store,
           fmt::format("UPDATE study SET definition = definition || '{}' || char(10)", line));
  };
  add_source("s", "upstream MySim");
  EXPECT_FALSE(make_study_report({path("s"), path("again")}).ok());
  add_source("again", "upstream YourSim");
  const Result<StudyReport> two = make_study_report({path("s"), path("again")});
  EXPECT_TRUE(two.ok()) << two.status().message();
  EXPECT_EQ(make_study_report({}).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(make_study_report({path("s"), path("none")}).status().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(make_study_report({path("s")}, {.threads = 0}).status().kind(),
            ErrorKind::kInvalidConfig);
}

TEST_F(MakeReport, EvaluationsDuringTrainingAreACurveAndTheArea) {
  const StudyPlan plan = ladder_plan(3);
  for (const int evaluations : {4, 5}) {
    const std::string name = "s" + std::to_string(evaluations);
    Result<StudyStore> store = StudyStore::open(path(name), plan, {}, false);
    ASSERT_TRUE(store.ok());
    for (const StudyRun& run : plan.runs) {
      RunRecord record = planted_run(plan, run.id, run.cell, 40.0);
      record.evaluations.clear();
      for (int k = 1; k <= evaluations; ++k) {
        record.evaluations.push_back({102400 * k / evaluations, 10, 10, 10.0 * k, 0, 0, 0, 0});
      }
      ASSERT_TRUE(store.value().write(record).ok());
    }
    store = Status(ErrorKind::kIo, "closed");
    const ReportCell cell = report({name}).cells[0];
    ASSERT_EQ(cell.curves[1].key, "evaluation_return");
    EXPECT_EQ(cell.curves[1].positions.size(), static_cast<std::size_t>(evaluations));
    EXPECT_EQ(cell.curves[1].iqm[1].value, 20.0);
    // Seconds are those of the training curve at the same steps: 2 for this cell's runs.
    EXPECT_EQ(cell.time_curve.key, "evaluation_return");
    EXPECT_EQ(cell.time_curve.positions.back(), 2.0);
    EXPECT_EQ(cell.time_curve.iqm.back().value, 10.0 * evaluations);
    EXPECT_EQ(cell.time_curve.positions.front(), 0.5);  // of four points; earlier evaluations known
    EXPECT_EQ(cell.time_curve.iqm.front().value, 10.0);
    // 10 to 50 evenly; with fewer than five evaluations the training returns, 10 to 40 evenly.
    EXPECT_DOUBLE_EQ(cell.area->iqm.value, evaluations == 5 ? 30.0 : 25.0);
  }
}

TEST_F(MakeReport, OneTaskOfSeveral) {
  plant(plan_text("seeds = 2\npoints = 4\n[base]\ntotal_timesteps = 102400\n"
                  "[shapes]\nlist = ['4x16', '8x8']\n"
                  "[grid]\nenv_id = ['CartPole-v1', 'Acrobot-v1']\n"),
        "s", [](int cell, int seed) { return around(10 * cell, seed); });
  StudyReportOptions options{2000, 300, 1, 1};
  options.task = "Acrobot-v1";
  const Result<StudyReport> r = make_study_report({path("s")}, options);
  ASSERT_TRUE(r.ok()) << r.status().message();
  ASSERT_EQ(r.value().tasks.size(), 1U);
  ASSERT_EQ(r.value().cells.size(), 2U);
  EXPECT_EQ(r.value().cells[0].name, "4x16 env_id=Acrobot-v1");
  EXPECT_EQ(r.value().cells[1].runs.size(), 2U);
  EXPECT_EQ(r.value().cells[1].training->mean.count, 2);
  EXPECT_NEAR(r.value().cells[1].training->mean.value, 30.0, 6.0);
  options.task = "Pendulum-v1";
  const Status none = make_study_report({path("s")}, options).status();
  EXPECT_EQ(none.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(none.message().find("the stores have Acrobot-v1, CartPole-v1"), std::string::npos);
}

TEST_F(MakeReport, OfManyPairsTheFirstTheBestAndNeighboursAreCompared) {
  std::string rates;
  for (int i = 1; i <= 30; ++i) rates += (i > 1 ? ", " : "") + std::to_string(i) + "e-4";
  const StudyPlan plan =
      plan_text("seeds = 4\npoints = 2\n[base]\ntotal_timesteps = 1024\n[grid]\nlearning_rate = [" +
                rates + "]\n");
  plant(plan, "s", [](int cell, int seed) { return around(cell == 7 ? 50 : 0, seed); });
  const StudyReport r = report({"s"}, 2, 2000);
  // 435 pairs in all: 29 with the first arm and 29 with the eighth, one of them in both; and 29
  // pairs of neighbours, three of which are among those.
  EXPECT_EQ(r.comparisons.size(), 2U * 83U);
  const std::vector<LineCalls> calls = count_calls(r);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].pairs, 29);
  EXPECT_EQ(calls[0].later_better, 1);
  EXPECT_EQ(calls[0].earlier_better, 1);
}

TEST_F(MakeReport, LargeReportsUseFewerReplicatesAndSaySo) {
  plant(ladder_plan(5), "s", [](int cell, int seed) { return around(cell, seed); });
  StudyReportOptions options;
  options.most_draws = options.most_band_draws = 1e4;
  const Result<StudyReport> r = make_study_report({path("s")}, options);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.value().replicates, 2000);  // not fewer
  EXPECT_EQ(r.value().band_replicates, 200);
  const std::vector<std::string>& notes = r.value().notes;
  ASSERT_GE(notes.size(), 2U);
  EXPECT_NE(notes[notes.size() - 2].find("comparisons"), std::string::npos);
  EXPECT_NE(notes[notes.size() - 2].find("2,000 replicates"), std::string::npos);
  EXPECT_NE(notes.back().find("curves"), std::string::npos);
  EXPECT_NE(notes.back().find("200 replicates"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
