#include "research/report/report_summary.h"

#include <cmath>

#include "research/report/report_words.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

class Summary : public PlantedTest {
 protected:
  static std::string text(const StudyReport& report) {
    std::string all;
    for (const SummaryPart& part : report.summary) {
      for (const std::string& line : part.lines) all += part.title + ": " + line + "\n";
    }
    return all;
  }
  static void says(const StudyReport& report, const std::string& words) {
    EXPECT_NE(text(report).find(words), std::string::npos) << words << "\n---\n" << text(report);
  }
  static void never_says(const StudyReport& report, const std::string& words) {
    EXPECT_EQ(text(report).find(words), std::string::npos) << words << "\n---\n" << text(report);
  }
  static std::size_t lines(const StudyReport& report) {
    std::size_t count = 0;
    for (const SummaryPart& part : report.summary) count += part.lines.size();
    return count;
  }
};

TEST_F(Summary, AClearWinnerAndALineThatFalls) {
  plant(ladder_plan(10), "s", [](int cell, int seed) { return around(200.0 - 31.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Shape N x T of a batch of 64 on CartPole-v1");
  EXPECT_EQ(r.answer.find("On CartPole-v1 at a batch of 64, the evaluation return is highest at N "
                          "= 4 and lower from 8 on: 300.5 ["),
            0U)
      << r.answer;
  EXPECT_NE(r.answer.find("] at N = 4 against 238.5 ["), std::string::npos) << r.answer;
  says(r, "Which is best: N = 4, T = 16 is best: it has the largest evaluation return: IQM ");
  says(r, "(CartPole-v1), and all 2 other arms can be told from it.");
  says(r,
       "How much may be chance: The arms that differ in one thing alone show a difference at 95 %; "
       "arms that are all alike would show one in 5 of 100 studies at most.");
  says(r, "How many runs: 30 of 30 runs of 3 cells on CartPole-v1 have finished.");
  never_says(r, "alone.");
  never_says(r, "unreliable");
  EXPECT_LE(lines(r), 12U);
}

TEST_F(Summary, NoDifferenceIsCalledNone) {
  plant(ladder_plan(10), "s", [](int cell, int seed) { return around(0.1 * cell, seed + cell); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.answer.find("On CartPole-v1 at a batch of 64, no difference of the evaluation return "
                          "was found from N = 4 to 16; the intervals leave room for differences "
                          "of up to "),
            0U)
      << r.answer;
  says(r, "Which is best: No arm can be called best: N = ");
  says(r, "(CartPole-v1), and none of the 2 other arms can be told from it.");
  never_says(r, "is best: it");
  says(r, "The arms that differ in one thing alone show no difference at 95 %;");
  never_says(r, "higher");
  never_says(r, "lower");
}

TEST_F(Summary, UnequalGradientStepsAreNamed) {
  plant(doubled_plan(10), "s", [](int cell, int seed) { return around(100.0 - 30 * cell, seed); });
  const StudyReport r = report({"s"});
  // 8x8 takes 16 x 4 x 4 steps, the doubled ones half as many.
  EXPECT_NE(comparison_sentence(r, r.comparisons[0])
                .find("These differ in gradient steps (25,600 against 12,800) and minibatch size "
                      "(16 against "
                      "32) too, so it says nothing of N alone."),
            std::string::npos)
      << comparison_sentence(r, r.comparisons[0]);
  never_says(r, "at equal gradient steps");
  // All else equal there are three lines: N at one T, T at one N, and the two doubled ones.
  ASSERT_EQ(r.lines.size(), 3U);
  EXPECT_EQ(r.heading, "Shape N x T on CartPole-v1");
  EXPECT_EQ(r.answer.find("On CartPole-v1 at N = 8, the evaluation return is higher at T = 8 than "
                          "at T = 16: 200.5 ["),
            0U)
      << r.answer;
  EXPECT_NE(r.answer.find(". Along it gradient steps (12,800 to 25,600) and minibatch size (16 to "
                          "32) change too, so it says nothing of T alone."),
            std::string::npos)
      << r.answer;
  says(r,
       "On CartPole-v1 at a batch of 128, the evaluation return is higher at N = 16 than at N = "
       "8: ");
}

TEST_F(Summary, OneSeedAndFewSeedsAreSaid) {
  plant(ladder_plan(1), "one", [](int cell, int) { return 10.0 * cell; });
  const StudyReport one = report({"one"});
  says(one, "With one run there is no interval");
  EXPECT_EQ(one.answer,
            "On CartPole-v1 at a batch of 64, the runs are too few to call a difference of the "
            "evaluation return from N = 4 to 16.");
  EXPECT_NE(comparison_sentence(one, one.comparisons[1])
                .find("N = 16, T = 4 was better than N = 4, T = 16 in 100 % of pairs of runs (no"),
            std::string::npos);
  never_says(one, "beats");
  never_says(one, "of 100 studies");
  plant(ladder_plan(3), "three", [](int cell, int seed) { return 100.0 * cell + seed; });
  const StudyReport three = report({"three"});
  says(three, "With 3 runs intervals are unreliable: read 95 % as about 75 %");
  EXPECT_NE(three.answer.find("the runs are too few to call a difference"), std::string::npos);
  EXPECT_NE(comparison_sentence(three, three.comparisons[1])
                .find("is ahead of N = 4, T = 16, but the runs are too few to call it"),
            std::string::npos);
}

TEST_F(Summary, FailedRunsAreSaidToFlatter) {
  plant(
      ladder_plan(6), "s", [](int cell, int seed) { return around(cell, seed); },
      [](int cell, int seed) { return cell == 1 && seed <= 2; });
  const StudyReport r = report({"s"});
  says(r, "How many runs: 16 of 18 runs of 3 cells on CartPole-v1 have finished.");
  says(r,
       "2 runs failed and stand in no number, which makes the cells look better than they "
       "are: 2 of 8x8.");
  EXPECT_EQ(r.notes[0], "Failed: 8x8, seed 1: the loss is not finite");
}

TEST_F(Summary, NothingFinishedIsNothingSaid) {
  plant(ladder_plan(3), "s", [](int, int) { return std::nullopt; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(text(r),
            "How many runs: 0 of 9 runs of 3 cells on CartPole-v1 have finished.\n"
            "How many runs: Nothing can be said yet.\n");
  EXPECT_EQ(r.answer, "No run has finished yet: nothing can be said.");
  EXPECT_EQ(r.heading, "Settings on CartPole-v1");
  EXPECT_TRUE(r.comparisons.empty());
  ASSERT_EQ(r.notes.size(), 1U);
  EXPECT_NE(r.notes[0].find("9 of 9 runs"), std::string::npos);
}

TEST_F(Summary, OneCellHasNothingToBeComparedWith) {
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\n"), "s",
        [](int, int seed) { return around(10, seed); });
  const StudyReport r = report({"s"});
  says(r, "There are no two arms with scores to compare.");
  EXPECT_EQ(r.heading, "One setting on CartPole-v1");
  EXPECT_EQ(r.answer.find("Only base has an evaluation return: IQM 11"), 0U) << r.answer;
}

TEST_F(Summary, CountsAreThoseOfTheTaskThatASentenceIsAbout) {
  // Pendulum takes twice the steps, and both double the batch.
  plant(plan_text("seeds = 6\npoints = 4\n[shapes]\nlist = ['4x16', '8x16', '16x16']\n"
                  "[base]\nnum_minibatches = 4\nupdate_epochs = 1\n"
                  "[[variants]]\nname = 'a'\nenv_id = 'CartPole-v1'\ntotal_timesteps = 102400\n"
                  "[[variants]]\nname = 'b'\nenv_id = 'Acrobot-v1'\ntotal_timesteps = 204800\n"),
        "s", [](int cell, int seed) { return around(20 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_NE(r.answer.find("Along it on CartPole-v1 gradient steps (1,600 to 6,400) and minibatch "
                          "size (16 to 64) change too"),
            std::string::npos)
      << r.answer;
  EXPECT_NE(comparison_sentence(r, r.comparisons[1])
                .find("gradient steps (1,600 against 6,400 on CartPole-v1)"),
            std::string::npos);
}

TEST_F(Summary, StepsThatTargetKlMayStopAreNeverEqual) {
  plant(ladder_plan(6, "target_kl = 0.01\n"), "s",
        [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_NE(r.answer.find("gradient steps (target_kl stops epochs) may change too"),
            std::string::npos)
      << r.answer;
  EXPECT_NE(comparison_sentence(r, r.comparisons[0])
                .find("These may differ in gradient steps (target_kl stops epochs) too"),
            std::string::npos);
  EXPECT_NE(r.notes.back().find("never called equal"), std::string::npos);
}

TEST_F(Summary, RunsThatAreTheSameAreComparedOnce) {
  const auto score = [](int cell, int seed) { return around(10.0 * cell, seed); };
  const std::string rest =
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\ndoubled = '8x8'\n";
  plant(plan_text("match = 'minibatch_count'\n" + rest), "count", score);
  plant(plan_text("match = 'minibatch_size'\n" + rest), "size", score);
  change("size", "UPDATE runs SET parameters_hash = (SELECT 'one' || seed) WHERE cell_id = 1");
  change("count", "UPDATE runs SET parameters_hash = (SELECT 'one' || seed) WHERE cell_id = 1");
  const StudyReport r = report({"count", "size"});
  ASSERT_EQ(r.arms.size(), 6U);
  EXPECT_EQ(r.arms[3].same_runs, 0);
  for (const int arm : {0, 1, 2, 4, 5})
    EXPECT_EQ(r.arms[static_cast<std::size_t>(arm)].same_runs, -1);
  EXPECT_EQ(r.comparisons.size(), 2U * 10U);
  for (const ReportComparison& c : r.comparisons) EXPECT_TRUE(c.a != 3 && c.b != 3);
  EXPECT_EQ(r.notes[0],
            "8x8 match=minibatch_size has the very runs of 8x8 match=minibatch_count: it is "
            "compared as that one.");
}

TEST_F(Summary, TiesHaveNoWinner) {
  plant(ladder_plan(6), "s", [](int cell, int) { return cell == 1 ? 400.0 : 500.0; });
  const StudyReport r = report({"s"});
  says(
      r,
      "Which is best: No arm can be called best: N = 4, T = 16 and N = 16, T = 4 share the largest "
      "evaluation return: IQM 600 [600, 600] (CartPole-v1).");
  never_says(r, "is best: it");
  EXPECT_NE(
      r.answer.find("is highest at N = 4 and 16, which cannot be told apart, and lower at N = "
                    "8: 600 [600, 600] at N = 4 against 500 [500, 500] at N = 8."),
      std::string::npos)
      << r.answer;
}

// Two arms of one IQM, one of which has a bad run in ten and so the lower mean.
TEST_F(Summary, OfTiesThatOfTheHigherMeanLeadsAndIsNoRivalOfItself) {
  plant(ladder_plan(10), "s", [](int cell, int seed) {
    if (cell == 2) return around(100.0, seed);
    return cell == 0 && seed == 1 ? 350.0 : 400.0;
  });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.rankings.size(), 1U);
  EXPECT_EQ(r.rankings[0].arms, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(r.rankings[0].leader, 1);
  EXPECT_FALSE(r.rankings[0].best);
  says(r,
       "No arm can be called best: N = 8, T = 8 and N = 4, T = 16 share the largest evaluation "
       "return: IQM 500 [500, 500] (CartPole-v1).");
  never_says(r, "cannot be told from");
}

// The largest IQM is that of an arm whose runs lose more often than not, and are so called.
TEST_F(Summary, AnArmThatLosesToAnotherDoesNotLead) {
  plant(ladder_plan(24), "s", [](int cell, int seed) {
    if (cell == 1) return 100.0;                      // level
    if (cell == 0) return seed <= 17 ? 99.0 : 400.0;  // mostly a little lower, some far higher
    return 0.0;
  });
  const StudyReport r = report({"s"});
  const ReportRanking& ranking = r.rankings[0];
  EXPECT_EQ(ranking.arms.front(), 0);  // by its IQM
  EXPECT_EQ(ranking.leader, 1);
  EXPECT_EQ(r.lines[0].leader, 1);
  EXPECT_EQ(r.lines[0].standings[0], Standing::kLower);
  says(r,
       "N = 8, T = 8 is best: it has an evaluation return: IQM 200 [200, 200] (CartPole-v1), and "
       "all 2 other arms can be told from it; N = 4, T = 16 has a larger one, and single runs that "
       "more often lose to it.");
}

TEST_F(Summary, EvaluationsAreSpokenOfAndWhatTrainingReturnsLeaveOutIsNoted) {
  // 64 and 256 steps an environment, where an episode may last 500.
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\n"
                  "[shapes]\nlist = ['4x16', '16x4']\n"),
        "s", [](int cell, int seed) { return around(100 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_NE(r.answer.find("the evaluation return is higher at N = 16 than at N = 4"),
            std::string::npos);
  never_says(r, "training return");
  EXPECT_GE(r.cells[0].profile.thresholds.front(), 90.0);  // evaluations are 100 above the rest
  ASSERT_EQ(r.notes.size(), 1U);
  EXPECT_NE(r.notes[0].find("At N = 16 an environment lives for 64 steps, and an episode of "
                            "CartPole-v1 may last 500"),
            std::string::npos)
      << r.notes[0];
  EXPECT_TRUE(r.notes[0].ends_with(
      "Evaluations are of whole episodes: 10 whole episodes of each final policy, most likely "
      "actions."))
      << r.notes[0];
  // Ten of the longest episodes are enough.
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\nmax_episode_steps = 6\n"
                  "[shapes]\nlist = ['4x16', '16x4']\n"),
        "short", [](int cell, int seed) { return around(100 * cell, seed); });
  ASSERT_EQ(report({"short"}).notes.size(), 1U);
  EXPECT_NE(report({"short"}).notes[0].find("are not normalised"), std::string::npos);
  // Training returns are spoken of where not all cells have evaluations.
  change("short", "DELETE FROM evaluations WHERE run_id = 1");
  change("short",
         "DELETE FROM evaluations WHERE run_id IN (SELECT id FROM runs WHERE cell_id = 1)");
  EXPECT_NE(report({"short"}).answer.find("the training return is higher at N = 16"),
            std::string::npos);
}

TEST_F(Summary, SettingsOfOneShapeGoByTheirNames) {
  plant(plan_text("seeds = 8\npoints = 4\n[base]\ntotal_timesteps = 1024\n"
                  "[grid]\nlearning_rate = [1e-3, 1e-4]\n"),
        "s", [](int cell, int seed) { return around(-100 * cell, seed) + 100; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Learning rate on CartPole-v1");
  EXPECT_EQ(r.answer.find("On CartPole-v1 the evaluation return is higher with learning_rate=0.001 "
                          "than with learning_rate=1e-04: 200.2 ["),
            0U)
      << r.answer;
  EXPECT_EQ(r.lines[0].values, (std::vector<std::string>{"1e-04", "0.001"}));  // by their size
}

TEST_F(Summary, SeveralTasksAreComparedByNormalisedScores) {
  const auto score = [](int cell, int seed) { return around(100 + 40 * cell, seed); };
  plant(ladder_plan(6), "pole", score);
  plant(ladder_plan(6, "env_id = 'FrozenLake-v1'\n"), "lake",
        [](int cell, int seed) { return 0.01 * around(10 + 10 * cell, seed); });
  const StudyReport r = report({"pole", "lake"});
  EXPECT_EQ(
      r.answer.find("On CartPole-v1 and FrozenLake-v1 at a batch of 64, the evaluation return "
                    "is lower up to N = 8 and highest at 16: "),
      0U)
      << r.answer;
  EXPECT_NE(r.answer.find(" (CartPole-v1), "), std::string::npos);
  EXPECT_NE(comparison_sentence(r, r.comparisons[1])
                .find("(training return, on average over 2 tasks and on each of them)."),
            std::string::npos);
  says(r, "N = 16, T = 4 is best: it has the largest evaluation return: IQM ");
  says(r, "(on average over 2 tasks, normalised), and all 2 other arms can be told from it.");
  never_says(r, "Task by task");
}

TEST(Words, AMissingNumberIsSaidInOneWay) {
  const double nan = std::nan("");
  for (const double x : {nan, -nan, HUGE_VAL}) {
    EXPECT_EQ(estimate_words({x, x, x, 1}), "no number");
    EXPECT_EQ(probability_words({x, x, x, 1}), "no number");
  }
}

TEST_F(Summary, OneArmThatFinishedIsNotTheBest) {
  plant(ladder_plan(6), "s", [](int cell, int seed) -> std::optional<double> {
    if (cell != 1) return std::nullopt;
    return around(100, seed);
  });
  const StudyReport r = report({"s"});
  says(r, "Which is best: Only N = 8, T = 8 has an evaluation return: IQM ");
  says(r, "there is nothing to compare it with.");
  says(r, "Which is best: 2 other arms have no evaluation return on CartPole-v1 and are left out.");
  never_says(r, "is best: it");
}

TEST_F(Summary, ArmsOfOneStoreAloneAreNotRankedOverAllTasks) {
  // 16x4 is on CartPole alone, and the highest there.
  const std::string rest = "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n";
  const auto score = [](int cell, int seed) { return around(100 + 100.0 * cell, seed); };
  plant(plan_text(rest + "[shapes]\nlist = ['4x16', '8x8', '16x4']\n"), "pole", score);
  plant(plan_text(rest + "env_id = 'FrozenLake-v1'\n[shapes]\nlist = ['4x16', '8x8']\n"), "lake",
        [](int cell, int seed) { return 0.01 * around(10 + 30 * cell, seed); });
  const StudyReport r = report({"pole", "lake"});
  says(r, "Which is best: N = 8, T = 8 is best: it has the largest evaluation return: IQM ");
  says(r, "(on average over 2 tasks, normalised), and the other arm can be told from it.");
  says(r, "Which is best: 1 other arm has no evaluation return on every task and is left out.");
}

TEST_F(Summary, TasksWithoutACommonArmAreSaidToBe) {
  const std::string rest =
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n[grid]\nlearning_rate = [1e-3, "
      "1e-4]\n";
  plant(
      plan_text(rest +
                "[[variants]]\nname = 'a'\nnum_envs = 8\nnum_steps = 16\n"
                "[[variants]]\nname = 'b'\nnum_envs = 4\nnum_steps = 16\nenv_id = 'Acrobot-v1'\n"),
      "s", [](int cell, int seed) { return around(cell == 2 ? 200 : 100 + 0.1 * cell, seed); });
  const StudyReport r = report({"s"});
  says(r,
       "How many runs: The 2 tasks have no arm in common: each has shapes N x T of its own. So "
       "nothing of "
       "one is set beside another;");
  // Each task has its own shape, and none is left out of the answer.
  EXPECT_EQ(r.answer.find("On CartPole-v1 the evaluation return is higher with learning_rate=1e-04 "
                          "than with learning_rate=0.001: 301.2 [298.2, 304.0] against 201.2 ["),
            0U)
      << r.answer;
  EXPECT_NE(r.answer.find("; on Acrobot-v1 no difference of the evaluation return was found "
                          "between learning_rate=1e-04 and 0.001;"),
            std::string::npos)
      << r.answer;
  says(r, "is best: it has the largest evaluation return: IQM ");
  says(r, "(CartPole-v1), and the other arm can be told from it.");
  says(r, "Which is best: On Acrobot-v1 no arm can be called best: ");
  says(r, "Of 2 sets of arms that differ in one thing alone on a task, 1 shows a difference");
  const auto any = [](int, int seed) { return around(100, seed); };
  plant(ladder_plan(6), "pole", any);
  plant(ladder_plan(6, "env_id = 'FrozenLake-v1'\n"), "lake", any);
  never_says(report({"pole", "lake"}), "in common");
}

TEST_F(Summary, ChanceIsOfLinesThatCanShowADifference) {
  plant(ladder_plan(3), "s", [](int cell, int seed) { return 100.0 * cell + seed; });
  never_says(report({"s"}), "of 100 studies");  // of three runs none can be
  plant(ladder_plan(6), "many", [](int cell, int seed) -> std::optional<double> {
    if (cell == 1 && seed > 1) return std::nullopt;
    return around(100.0 * cell, seed);
  });
  const StudyReport r = report({"many"});
  says(r, "1 of the other arms was not compared with it, or has too few runs.");
  EXPECT_EQ(r.lines[0].standings[1], Standing::kUnknown);
  EXPECT_NE(r.answer.find("is lower up to N = 4 and highest at 16 (too few runs, or not compared, "
                          "at N = 8): "),
            std::string::npos)
      << r.answer;
  plant(ladder_plan(6), "level", [](int cell, int seed) -> std::optional<double> {
    if (cell == 1 && seed > 1) return std::nullopt;
    return around(cell == 1 ? 80.0 : 100.0, seed);
  });
  EXPECT_NE(report({"level"}).answer.find("was found from N = 4 to 16 (too few runs, or not "
                                          "compared, at N = 8)"),
            std::string::npos)
      << report({"level"}).answer;
  says(r, "The arms that differ in one thing alone show a difference at 95 %;");
}

// On one task the settings of a pair are far apart, on the other they are as far the other way
// round.
class OppositeEffects : public Summary {
 protected:
  // Of two learning rates, CartPole likes the second better by `pole`, FrozenLake by `lake`.
  StudyReport planted(double pole, double lake, int seeds = 6) const {
    const std::string rest =
        "points = 4\n[grid]\nlearning_rate = [1e-3, 1e-4]\n[base]\ntotal_timesteps = 102400\n";
    const std::string study = "seeds = " + std::to_string(seeds) + "\n" + rest;
    plant(plan_text(study), "pole",
          [=](int cell, int seed) { return around(100 + pole * cell, seed); });
    plant(plan_text(study + "env_id = 'FrozenLake-v1'\n"), "lake",
          [=](int cell, int seed) { return 0.01 * around(10 + lake * cell, seed); });
    return report({"pole", "lake"});
  }
};

TEST_F(OppositeEffects, AreNamedWhereTheirMeanIsNoDifference) {
  const StudyReport r = planted(40, -40);
  EXPECT_EQ(r.answer.find("It depends on the task: on CartPole-v1 the evaluation return is higher "
                          "with learning_rate=1e-04 than with learning_rate=0.001: 24"),
            0U)
      << r.answer;
  EXPECT_NE(r.answer.find("; on FrozenLake-v1 the evaluation return is higher with "
                          "learning_rate=0.001 than with learning_rate=1e-04: "),
            std::string::npos)
      << r.answer;
  says(r, "Which is best: No arm can be called best: learning_rate=");
  says(r, "(on average over 2 tasks, normalised), and the other arm cannot be told from it.");
  says(r, "Of 2 sets of arms that differ in one thing alone on a task, 2 show a difference");
  ASSERT_EQ(r.comparisons[0].by_task.size(), 2U);
  EXPECT_EQ(r.comparisons[0].result, 0);
  EXPECT_EQ(r.comparisons[0].by_task[0].result, -1);
  EXPECT_EQ(r.comparisons[0].by_task[1].result, 1);
  const std::string mean = comparison_sentence(r, r.comparisons[0]);
  for (const char* words :
       {"No difference was found between learning_rate=", "0.50 [0.50, 0.50]",
        "(training return, on average over 2 tasks). Task by task, ", ", but learning_rate=",
        "learning_rate=1e-04 beats learning_rate=0.001 on CartPole-v1 (1.00 [1.00, 1.00])",
        "learning_rate=0.001 beats learning_rate=1e-04 on FrozenLake-v1 (1.00 [1.00, 1.00])"}) {
    EXPECT_NE(mean.find(words), std::string::npos) << words << "\n" << mean;
  }
}

TEST_F(OppositeEffects, AMeanThatIsOneTasksSaysWhose) {
  const StudyReport r = planted(1, -40, 11);  // CartPole leans to the other side
  EXPECT_EQ(r.comparisons[0].result, 1);
  EXPECT_EQ(r.comparisons[0].by_task[0].result, 0);
  EXPECT_EQ(r.answer.find("On CartPole-v1 no difference of the evaluation return was found between "
                          "learning_rate=1e-04 and 0.001; the intervals leave room for differences "
                          "of up to "),
            0U)
      << r.answer;
  EXPECT_NE(r.answer.find("; on FrozenLake-v1 the evaluation return is higher with"),
            std::string::npos);
  const std::string mean = comparison_sentence(r, r.comparisons[0]);
  EXPECT_NE(mean.find("learning_rate=0.001 beats learning_rate=1e-04 with probability 0.71 ["),
            std::string::npos);
  EXPECT_NE(mean.find("(training return, on average over 2 tasks). Task by task, "
                      "learning_rate=0.001 beats learning_rate=1e-04 on FrozenLake-v1 (1.00 [1.00, "
                      "1.00])."),
            std::string::npos)
      << mean;
}

TEST_F(OppositeEffects, WhatATaskSaysIsWhatItsReportSays) {
  const StudyReport r = planted(4, -40);
  const Result<StudyReport> alone =
      make_study_report({path("pole")}, {r.replicates, r.band_replicates, 1, 1});
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_TRUE(alone.value().comparisons[0].by_task.empty());
  const Estimate& whole = r.comparisons[0].by_task[0].probability;
  const Estimate& single = alone.value().comparisons[0].probability;
  EXPECT_EQ(whole.value, single.value);
  EXPECT_EQ(whole.low, single.low);
  EXPECT_EQ(whole.high, single.high);
}

}  // namespace
}  // namespace broadloom
