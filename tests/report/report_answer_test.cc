#include "research/report/report_answer.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "research/report/report_lines.h"
#include "research/report/report_tables.h"
#include "research/report/report_words.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

// The texts of a row after its first one, in the table with this title; empty if there is none.
std::vector<std::string> row_of(const StudyReport& report, const std::string& title,
                                const std::string& first) {
  for (const ReportTable& table : report_tables(report)) {
    if (table.title != title) continue;
    for (const std::vector<std::string>& row : table.rows) {
      if (row[0] == first) return {row.begin() + 1, row.end()};
    }
  }
  return {};
}

// The sentence below the table with this title.
std::string below(const StudyReport& report, const std::string& title) {
  for (const ReportTable& table : report_tables(report)) {
    if (table.title == title) return table.below;
  }
  return "no such table";
}

std::string call_of(const StudyReport& report, const std::string& title, const std::string& first,
                    std::size_t column = 2) {
  const std::vector<std::string> row = row_of(report, title, first);
  return row.size() > column ? row[column] : "no such row";
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

bool begins(const std::string& text, const std::string& words) { return text.rfind(words, 0) == 0; }

std::size_t words_of(const std::string& sentence) {
  std::istringstream words(sentence);
  std::string word;
  std::size_t count = 0;
  while (words >> word) ++count;
  return count;
}

// Tests of a report's first sentence, notes and tables.
class Answers : public PlantedTest {
 protected:
  static void notes(const StudyReport& report, const std::string& words, bool there = true) {
    std::string all;
    for (const std::string& note : report.notes) all += note + "\n";
    EXPECT_EQ(holds(all, words), there) << words << "\n---\n" << all;
  }
};

const char kRanking[] = "Ranking by evaluation return on CartPole-v1";
const char kLadder[] = "N at B = 64 on CartPole-v1";

TEST_F(Answers, AClearWinnerAndALineThatFalls) {
  plant(ladder_plan(10), "s", [](int cell, int seed) { return around(200.0 - 31.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Shape N x T on CartPole-v1");
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1 at B = 64, the evaluation return is higher with N = 4 (300.5 [");
  EXPECT_PRED2(holds, r.answer, "]) than with N = 16 (238.5 [");
  EXPECT_PRED2(holds, r.answer, "]).");
  EXPECT_LE(words_of(r.answer), 30U);
  EXPECT_EQ(call_of(r, kRanking, "4x16"), "best");
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "lower");
  EXPECT_EQ(call_of(r, kRanking, "16x4"), "lower");
  EXPECT_EQ(call_of(r, kLadder, "N = 4"), "leads");
  EXPECT_EQ(call_of(r, kLadder, "N = 8"), "lower");
  EXPECT_PRED2(begins, row_of(r, kLadder, "N = 16").at(1), "62.0 [");  // below the leader
  EXPECT_TRUE(r.lines[0].confounds.empty());
  EXPECT_EQ(call_of(r, "Cells: 30 of 30 runs have finished", "4x16", 0), "10 of 10");
  notes(r,
        "Sets of arms that differ in one key alone: 1 with enough runs; differences at 95 %: 1; ");
  notes(r, "by chance, if no arm differed: at most 0.05.");
  notes(r, "unreliable", false);
}

TEST_F(Answers, EqualArmsHaveNoDifference) {
  plant(ladder_plan(10), "s", [](int cell, int seed) { return around(0.1 * cell, seed + cell); });
  const StudyReport r = report({"s"});
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1, no difference in evaluation return was found between 3 arms that "
               "differ in shape N x T; the intervals allow up to ");
  EXPECT_LE(words_of(r.answer), 30U);
  int leaders = 0;
  for (const char* arm : {"4x16", "8x8", "16x4"}) {
    const std::string call = call_of(r, kRanking, arm);
    leaders += call == "leads" ? 1 : 0;
    EXPECT_TRUE(call == "leads" || call == "no difference found") << call;
  }
  EXPECT_EQ(leaders, 1);
  EXPECT_GT(r.lines[0].room, 0.0);
  EXPECT_PRED2(holds, below(r, kLadder), " up to ");
  notes(r, "1 with enough runs; differences at 95 %: 0");
}

TEST_F(Answers, UnequalGradientStepsAreNamed) {
  plant(doubled_plan(10), "s", [](int cell, int seed) { return around(100.0 - 30 * cell, seed); });
  const StudyReport r = report({"s"});
  // 8x8 takes 16 x 4 x 4 steps, the doubled ones half as many.
  const std::vector<std::string> both = {"gradient steps (12,800 to 25,600, 2 times)",
                                         "minibatch size (16 to 32, 2 times)"};
  EXPECT_EQ(r.comparisons[0].confounds, both);
  // There are three lines: N at one T, T at one N, and the two doubled shapes.
  ASSERT_EQ(r.lines.size(), 3U);
  EXPECT_EQ(r.heading, "Shape N x T on CartPole-v1");
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1, the evaluation return is higher with T = 8 (200.5 [");
  EXPECT_PRED2(holds, r.answer, "]); gradient steps and minibatch size differ too.");
  EXPECT_LE(words_of(r.answer), 30U);
  EXPECT_EQ(r.lines[0].confounds, both);
  EXPECT_PRED2(holds, below(r, "T at N = 8 on CartPole-v1"),
               "Differs too: gradient steps (12,800 to 25,600, 2 times), minibatch size (16 to 32, "
               "2 times).");
  EXPECT_EQ(row_of(r, kRanking, "16x8").back(),
            "gradient steps (12,800 to 25,600, 2 times), minibatch size (16 to 32, 2 times)");
  EXPECT_EQ(call_of(r, "N at B = 128 on CartPole-v1", "N = 16"), "leads");
  EXPECT_EQ(call_of(r, "N at B = 128 on CartPole-v1", "N = 8"), "lower");
  EXPECT_FALSE(holds(below(r, "N at B = 128 on CartPole-v1"), "Differs too"));
}

TEST_F(Answers, AQuestionOfTwoKeysIsAnswered) {
  const StudyPlan plan = plan_text(
      "seeds = 8\npoints = 4\n[base]\ntotal_timesteps = 102400\n[grid]\nnum_envs = [4, 16]\n"
      "gamma = [0.9, 0.99]\n");
  // More environments cost 50 with a short horizon and nothing with a long one.
  plant(plan, "depends", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return around(config.num_envs == 16 && config.gamma < 0.95 ? 50.0 : 100.0, seed);
  });
  const StudyReport r = report({"depends"});
  ASSERT_EQ(r.two_way.size(), 1U);
  const ReportTwoWay& question = r.two_way[0];
  EXPECT_TRUE(question.depends);
  EXPECT_TRUE(question.effects[0].holds(-50.0));
  EXPECT_TRUE(question.effects[1].holds(0.0));
  EXPECT_TRUE(question.difference.holds(50.0));
  EXPECT_PRED2(begins, question.words,
               "At T = 128, the effect of N depends on gamma: from N = 4 to N = 16, ");
  EXPECT_PRED2(holds, question.words, " at gamma=0.9 and by ");
  // The same noise in all cells: there is nothing to depend on.
  plant(plan, "alike", [](int, int seed) { return around(100, seed); });
  const StudyReport same = report({"alike"});
  ASSERT_EQ(same.two_way.size(), 1U);
  EXPECT_FALSE(same.two_way[0].depends);
  EXPECT_PRED2(begins, same.two_way[0].words,
               "At T = 128, the effect of N is not found to depend on gamma: ");
}

TEST_F(Answers, AQuestionOfTwoKeysNamesTheOtherSettings) {
  plant(plan_text("seeds = 5\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\n"
                  "list = ['4x16', '16x4']\n[grid]\ngamma = [0.9, 0.99]\n"
                  "ent_coef = [0, 0.1]\n"),
        "s", [](int, int seed) { return around(100, seed); });
  std::string words;
  const StudyReport r = report({"s"});
  for (const ReportTwoWay& question : r.two_way) words += question.words + "\n";
  // B is the same in all arms of the first kind, and N and T in those of the second.
  EXPECT_PRED2(holds, words,
               "At B = 64, ent_coef=0.1, the effect of N is not found to depend on gamma: from ");
  EXPECT_EQ(r.two_way.size(), 6U);
  EXPECT_PRED2(holds, words,
               "At N = 16, T = 4, the effect of ent_coef is not found to depend on gamma: from ");
}

// The arms at one corner are the reference of both matches: the effects share its runs, so this is
// a comparison of two arms and no question of two keys.
TEST_F(Answers, RunsThatTwoEffectsShareAreNotTwoSamples) {
  const auto score = [](int cell, int seed) { return around(10.0 * cell, seed); };
  const std::string rest =
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\n"
      "list = ['4x16', '8x16']\n";
  plant(plan_text("match = 'minibatch_count'\n" + rest), "count", score);
  plant(plan_text("match = 'minibatch_size'\n" + rest), "size", score);
  EXPECT_EQ(report({"count", "size"}).two_way.size(), 1U);
  for (const char* store : {"count", "size"}) {
    change(store, "UPDATE runs SET parameters_hash = (SELECT 'one' || seed) WHERE cell_id = 1");
  }
  const StudyReport r = report({"count", "size"});
  EXPECT_EQ(r.arms[2].same_runs, 0);
  EXPECT_TRUE(r.two_way.empty());
}

TEST_F(Answers, OneSeedAndFewSeedsAreNoted) {
  plant(ladder_plan(1), "one", [](int cell, int) { return 10.0 * cell; });
  const StudyReport one = report({"one"});
  notes(one, "With one run there is no interval");
  EXPECT_EQ(one.answer,
            "On CartPole-v1, the runs are too few to call a difference in evaluation return "
            "between 3 arms that differ in shape N x T.");
  EXPECT_EQ(row_of(one, kRanking, "4x16").at(1), "1.00");  // no interval
  EXPECT_EQ(call_of(one, kRanking, "4x16"), "not called");
  EXPECT_EQ(call_of(one, kLadder, "N = 4"), "not called");
  notes(one, "with enough runs", false);
  plant(ladder_plan(3), "three", [](int cell, int seed) { return 100.0 * cell + seed; });
  const StudyReport three = report({"three"});
  notes(three, "With 3 runs intervals are unreliable: read 95 % as about 75 %");
  EXPECT_PRED2(holds, three.answer, "the runs are too few to call a difference");
  EXPECT_EQ(call_of(three, kRanking, "4x16"), "not called");
}

TEST_F(Answers, FailedRunsAreNoted) {
  plant(
      ladder_plan(6), "s", [](int cell, int seed) { return around(cell, seed); },
      [](int cell, int seed) { return cell == 1 && seed <= 2; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(call_of(r, "Cells: 16 of 18 runs have finished", "8x8", 0), "4 of 6, 2 failed");
  ASSERT_GE(r.notes.size(), 2U);
  EXPECT_EQ(r.notes[0],
            "Runs that failed are excluded from all statistics, so their cells look better than "
            "they are: 2 of 8x8.");
  EXPECT_EQ(r.notes[1], "Failed: 8x8, seed 1: the loss is not finite");
}

TEST_F(Answers, NothingFinishedGivesNoResult) {
  plant(ladder_plan(3), "s", [](int, int) { return std::nullopt; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(call_of(r, "Cells: 0 of 9 runs have finished", "8x8", 0), "0 of 3");
  EXPECT_EQ(call_of(r, "Cells: 0 of 9 runs have finished", "8x8", 1), "-");
  EXPECT_EQ(report_tables(r).size(), 1U);
  EXPECT_PRED2(begins, r.answer, "No run has finished yet");
  EXPECT_EQ(r.heading, "Settings on CartPole-v1");
  EXPECT_TRUE(r.comparisons.empty());
  ASSERT_EQ(r.notes.size(), 1U);
  EXPECT_PRED2(holds, r.notes[0], "9 of 9 runs");
}

TEST_F(Answers, OneCellHasNoComparison) {
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\n"), "s",
        [](int, int seed) { return around(10, seed); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "One setting on CartPole-v1");
  EXPECT_PRED2(begins, r.answer, "Only base has a score, evaluation return 11");
  EXPECT_PRED2(holds, r.answer, " on CartPole-v1");
}

TEST_F(Answers, CountsBelongToTheSentencesTask) {
  // Pendulum takes twice the steps, and both double the batch.
  plant(plan_text("seeds = 6\npoints = 4\n[shapes]\nlist = ['4x16', '8x16', '16x16']\n"
                  "[base]\nnum_minibatches = 4\nupdate_epochs = 1\n"
                  "[[variants]]\nname = 'a'\nenv_id = 'CartPole-v1'\ntotal_timesteps = 102400\n"
                  "[[variants]]\nname = 'b'\nenv_id = 'Acrobot-v1'\ntotal_timesteps = 204800\n"),
        "s", [](int cell, int seed) { return around(20 * cell, seed); });
  const StudyReport r = report({"s"});
  for (const ReportLine& line : r.lines) {
    EXPECT_EQ(line.confounds, (std::vector<std::string>{
                                  line.task == 0 ? "gradient steps (1,600 to 6,400, 4 times)"
                                                 : "gradient steps (3,200 to 12,800, 4 times)",
                                  "minibatch size (16 to 64, 4 times)"}));
  }
  EXPECT_PRED2(holds, r.answer, "; gradient steps and minibatch size differ too.");
  EXPECT_EQ(r.comparisons[1].confounds[0], "gradient steps (1,600 to 6,400, 4 times)");
}

TEST_F(Answers, StepsThatTargetKlMayStopAreNeverEqual) {
  plant(ladder_plan(6, "target_kl = 0.01\n"), "s",
        [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_PRED2(holds, r.answer, "; gradient steps may differ too.");
  EXPECT_EQ(r.lines[0].confounds[0], "gradient steps (target_kl stops epochs)");
  EXPECT_EQ(r.comparisons[0].confounds[0], "gradient steps (target_kl stops epochs)");
  notes(r, "With target_kl");
}

TEST_F(Answers, EqualRunsAreComparedOnce) {
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
  notes(r, "8x8 match=minibatch_size has the same runs as 8x8 match=minibatch_count");
}

TEST_F(Answers, TiesHaveNoWinner) {
  plant(ladder_plan(6), "s", [](int cell, int) { return cell == 1 ? 400.0 : 500.0; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(call_of(r, kRanking, "4x16"), "leads");  // but is not the best
  EXPECT_EQ(call_of(r, kRanking, "16x4"), "no difference found");
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "lower");
  EXPECT_EQ(r.answer,
            "On CartPole-v1 at B = 64, the evaluation return is higher with N = 4 (600 [600, 600]) "
            "than with N = 8 (500 [500, 500]).");
}

// Two arms have one IQM; one of them has a bad run in ten, and so the lower mean.
TEST_F(Answers, TheTiedArmOfTheHigherMeanLeads) {
  plant(ladder_plan(10), "s", [](int cell, int seed) {
    if (cell == 2) return around(100.0, seed);
    return cell == 0 && seed == 1 ? 350.0 : 400.0;
  });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.rankings.size(), 1U);
  EXPECT_EQ(r.rankings[0].arms, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(r.rankings[0].leader, 1);
  EXPECT_FALSE(r.rankings[0].best);
  EXPECT_EQ(row_of(r, kRanking, "8x8")[0], "500 [500, 500]");
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "leads");
  EXPECT_EQ(row_of(r, kRanking, "4x16")[0], "500.0 [491.7, 500.0]");
  EXPECT_EQ(call_of(r, kRanking, "4x16"), "no difference found");
}

// The arm with the largest IQM loses more often than not, and is called lower.
TEST_F(Answers, AnArmThatLosesToAnotherDoesNotLead) {
  plant(ladder_plan(24), "s", [](int cell, int seed) {
    if (cell == 1) return 100.0;                      // always the same
    if (cell == 0) return seed <= 17 ? 99.0 : 400.0;  // mostly a little lower, some far higher
    return 0.0;
  });
  const StudyReport r = report({"s"});
  const ReportRanking& ranking = r.rankings[0];
  EXPECT_EQ(ranking.arms.front(), 0);  // by IQM
  EXPECT_EQ(ranking.leader, 1);
  EXPECT_EQ(r.lines[0].leader, 1);
  EXPECT_EQ(r.lines[0].standings[0], Standing::kLower);
  EXPECT_EQ(row_of(r, kRanking, "8x8")[0], "200 [200, 200]");
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "best");
  EXPECT_EQ(call_of(r, kRanking, "4x16"), "lower");
  EXPECT_EQ(call_of(r, kRanking, "16x4"), "lower");
}

TEST_F(Answers, EvaluationsAreUsedAndTheLimitsOfTrainingReturnsNoted) {
  // 64 and 256 steps of an environment, while an episode may last 500.
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\n"
                  "[shapes]\nlist = ['4x16', '16x4']\n"),
        "s", [](int cell, int seed) { return around(100 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1 at B = 64, the evaluation return is higher with N = 16 (");
  EXPECT_EQ(call_of(r, kRanking, "16x4"), "best");
  EXPECT_GE(r.cells[0].profile.thresholds.front(), 90.0);  // evaluations are 100 above the rest
  notes(r, "Training returns leave out episodes that have not ended");
  notes(r,
        "in 16x4 an environment takes only 64 steps, and an episode of CartPole-v1 may last 500. ");
  notes(r, "10 episodes of each final policy, most likely actions.");
  // Ten of the longest episodes are enough.
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 1024\nmax_episode_steps = 6\n"
                  "[shapes]\nlist = ['4x16', '16x4']\n"),
        "short", [](int cell, int seed) { return around(100 * cell, seed); });
  notes(report({"short"}), "leave out episodes", false);
  notes(report({"short"}), "are not normalised");
  // Training returns are used if not all cells have evaluations.
  change("short", "DELETE FROM evaluations WHERE run_id = 1");
  change("short",
         "DELETE FROM evaluations WHERE run_id IN (SELECT id FROM runs WHERE cell_id = 1)");
  EXPECT_PRED2(holds, report({"short"}).answer, "the training return is higher with N = 16 (");
}

TEST_F(Answers, SettingsOfOneShapeHaveTheirNames) {
  plant(plan_text("seeds = 8\npoints = 4\n[base]\ntotal_timesteps = 1024\n"
                  "[grid]\nlearning_rate = [1e-3, 1e-4]\n"),
        "s", [](int cell, int seed) { return around(-100 * cell, seed) + 100; });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Learning rate on CartPole-v1");
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1, the evaluation return is higher with learning_rate=0.001 (200.2 [");
  EXPECT_PRED2(holds, r.answer, "]) than with learning_rate=1e-04 (");
  EXPECT_EQ(r.lines[0].values, (std::vector<std::string>{"1e-04", "0.001"}));  // sorted by size
}

TEST_F(Answers, SeveralTasksAreComparedByNormalisedScores) {
  const auto score = [](int cell, int seed) { return around(100 + 40 * cell, seed); };
  plant(ladder_plan(6), "pole", score);
  plant(ladder_plan(6, "env_id = 'FrozenLake-v1'\n"), "lake",
        [](int cell, int seed) { return 0.01 * around(10 + 10 * cell, seed); });
  const StudyReport r = report({"pole", "lake"});
  EXPECT_EQ(r.answer,
            "On CartPole-v1 and FrozenLake-v1 at B = 64, the evaluation return is higher with N = "
            "16 than with N = 4.");
  const char ranking[] = "Ranking by evaluation return on 2 tasks, normalised";
  EXPECT_EQ(call_of(r, ranking, "16x4"), "best");
  EXPECT_EQ(call_of(r, ranking, "4x16"), "lower");
  EXPECT_EQ(call_of(r, "N at B = 64 on FrozenLake-v1", "N = 16"), "leads");
  EXPECT_EQ(call_of(r, kLadder, "N = 4"), "lower");
  EXPECT_EQ(call_of(r, "Cells: 36 of 36 runs have finished", "16x4", 3), "CartPole-v1");
}

TEST(Words, MissingNumbersHaveOneText) {
  const double nan = std::nan("");
  for (const double x : {nan, -nan, HUGE_VAL}) {
    EXPECT_EQ(estimate_words({x, x, x, 1}), "no number");
    EXPECT_EQ(probability_words({x, x, x, 1}), "no number");
  }
}

TEST_F(Answers, TheOnlyFinishedArmIsNotTheBest) {
  plant(ladder_plan(6), "s", [](int cell, int seed) -> std::optional<double> {
    if (cell != 1) return std::nullopt;
    return around(100, seed);
  });
  const StudyReport r = report({"s"});
  EXPECT_PRED2(begins, r.answer, "Only 8x8 has a score, evaluation return 20");
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "leads");
  EXPECT_EQ(below(r, kRanking), "Arms without such a score: 2.");
}

TEST_F(Answers, ArmsOfOneStoreAreNotRankedOverAllTasks) {
  // 16x4 exists only on CartPole, and is the highest there.
  const std::string rest = "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n";
  const auto score = [](int cell, int seed) { return around(100 + 100.0 * cell, seed); };
  plant(plan_text(rest + "[shapes]\nlist = ['4x16', '8x8', '16x4']\n"), "pole", score);
  plant(plan_text(rest + "env_id = 'FrozenLake-v1'\n[shapes]\nlist = ['4x16', '8x8']\n"), "lake",
        [](int cell, int seed) { return 0.01 * around(10 + 30 * cell, seed); });
  const StudyReport r = report({"pole", "lake"});
  const char ranking[] = "Ranking by evaluation return on 2 tasks, normalised";
  EXPECT_EQ(call_of(r, ranking, "8x8"), "best");
  EXPECT_EQ(call_of(r, ranking, "4x16"), "lower");
  EXPECT_EQ(call_of(r, ranking, "16x4"), "no such row");
  EXPECT_EQ(below(r, ranking), "Arms without such a score: 1.");
}

TEST_F(Answers, TasksWithoutACommonArmAreNoted) {
  const std::string rest =
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n[grid]\nlearning_rate = [1e-3, "
      "1e-4]\n";
  plant(
      plan_text(rest +
                "[[variants]]\nname = 'a'\nnum_envs = 8\nnum_steps = 16\n"
                "[[variants]]\nname = 'b'\nnum_envs = 4\nnum_steps = 16\nenv_id = 'Acrobot-v1'\n"),
      "s", [](int cell, int seed) { return around(cell == 2 ? 200 : 100 + 0.1 * cell, seed); });
  const StudyReport r = report({"s"});
  notes(r, "The 2 tasks have no arm in common");
  // Each task has its own shape, and the answer names both.
  EXPECT_EQ(r.answer,
            "On CartPole-v1, the evaluation return is higher with learning_rate=1e-04 (301.2 "
            "[298.2, 304.0]) than with learning_rate=0.001 (201.2 [198.2, 204.0]); no difference "
            "found on Acrobot-v1.");
  EXPECT_EQ(call_of(r, kRanking, r.arms[2].name), "best");
  const std::string other = "Ranking by evaluation return on Acrobot-v1";
  for (const int arm : {1, 3}) {
    EXPECT_NE(call_of(r, other, r.arms[static_cast<std::size_t>(arm)].name), "best");
    EXPECT_NE(call_of(r, other, r.arms[static_cast<std::size_t>(arm)].name), "lower");
  }
  notes(r, "2 with enough runs; differences at 95 %: 1");
  const auto any = [](int, int seed) { return around(100, seed); };
  plant(ladder_plan(6), "pole", any);
  plant(ladder_plan(6, "env_id = 'FrozenLake-v1'\n"), "lake", any);
  notes(report({"pole", "lake"}), "in common", false);
}

TEST_F(Answers, ChanceCountsOnlyLinesThatCanShowADifference) {
  plant(ladder_plan(3), "s", [](int cell, int seed) { return 100.0 * cell + seed; });
  notes(report({"s"}), "with enough runs", false);  // three runs can show none
  plant(ladder_plan(6), "many", [](int cell, int seed) -> std::optional<double> {
    if (cell == 1 && seed > 1) return std::nullopt;
    return around(100.0 * cell, seed);
  });
  const StudyReport r = report({"many"});
  EXPECT_EQ(call_of(r, kRanking, "8x8"), "not called");
  EXPECT_EQ(r.lines[0].standings[1], Standing::kUnknown);
  EXPECT_EQ(call_of(r, kLadder, "N = 8"), "not called");
  EXPECT_EQ(call_of(r, kLadder, "N = 4"), "lower");
  EXPECT_PRED2(holds, r.answer, "is higher with N = 16 (");
  EXPECT_PRED2(holds, r.answer, "than with N = 4 (");
  plant(ladder_plan(6), "level", [](int cell, int seed) -> std::optional<double> {
    if (cell == 1 && seed > 1) return std::nullopt;
    return around(cell == 1 ? 80.0 : 100.0, seed);
  });
  const StudyReport level = report({"level"});
  EXPECT_PRED2(holds, level.answer, "no difference in evaluation return was found");
  EXPECT_EQ(call_of(level, kLadder, "N = 8"), "not called");
  notes(r, "1 with enough runs; differences at 95 %: 1");
}

// The settings have opposite effects of the same size on two tasks.
class OppositeEffects : public Answers {
 protected:
  // With the second learning rate, CartPole is better by `pole` and FrozenLake by `lake`.
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

TEST_F(OppositeEffects, AreNamedThoughTheirMeanIsNoDifference) {
  const StudyReport r = planted(40, -40);
  EXPECT_PRED2(begins, r.answer,
               "On FrozenLake-v1, the evaluation return is higher with learning_rate=0.001 (");
  EXPECT_PRED2(holds, r.answer, ") than with learning_rate=1e-04 (");
  EXPECT_TRUE(r.answer.ends_with("; on CartPole-v1 it is lower.")) << r.answer;
  EXPECT_LE(words_of(r.answer), 30U);
  const char ranking[] = "Ranking by evaluation return on 2 tasks, normalised";
  for (const ReportArm& arm : r.arms) {
    EXPECT_NE(call_of(r, ranking, arm.name), "best");
    EXPECT_NE(call_of(r, ranking, arm.name), "lower");
  }
  notes(r, "2 with enough runs; differences at 95 %: 2");
  ASSERT_EQ(r.comparisons[0].by_task.size(), 2U);
  EXPECT_EQ(r.comparisons[0].result, 0);
  EXPECT_EQ(r.comparisons[0].by_task[0].result, -1);
  EXPECT_EQ(r.comparisons[0].by_task[1].result, 1);
  EXPECT_EQ(probability_words(r.comparisons[0].probability), "0.50 [0.50, 0.50]");
  EXPECT_EQ(probability_words(r.comparisons[0].by_task[0].probability), "0.00 [0.00, 0.00]");
  EXPECT_EQ(probability_words(r.comparisons[0].by_task[1].probability), "1.00 [1.00, 1.00]");
}

TEST_F(OppositeEffects, ADifferenceOnOneTaskNamesTheTask) {
  const StudyReport r = planted(1, -40, 11);  // CartPole is slightly better with the other rate
  EXPECT_EQ(r.comparisons[0].result, 1);
  EXPECT_EQ(r.comparisons[0].by_task[0].result, 0);
  EXPECT_PRED2(begins, r.answer,
               "On FrozenLake-v1, the evaluation return is higher with learning_rate=0.001 (");
  EXPECT_TRUE(r.answer.ends_with("; no difference found on CartPole-v1.")) << r.answer;
  EXPECT_EQ(r.comparisons[0].by_task[1].result, 1);
  EXPECT_PRED2(begins, probability_words(r.comparisons[0].probability), "0.71 [");
}

// Four runs of each arm: on one task all of one arm exceed all others by chance in 2 of 70 cases,
// which is too often for two tasks, but on both tasks in 2 of 4,900.
TEST_F(OppositeEffects, AnEffectThatOnlyBothTasksShowTogetherIsTheAnswer) {
  const StudyReport r = planted(-40, -40, 4);
  ASSERT_EQ(r.lines.size(), 2U);
  EXPECT_FALSE(is_more_than_chance(r.lines[0], 2));
  EXPECT_EQ(r.comparisons[0].result, 1);
  const std::string high = r.arms[0].name, low = r.arms[1].name;
  EXPECT_EQ(r.answer,
            "On CartPole-v1 and FrozenLake-v1 together, though not beyond chance on one alone, the "
            "evaluation return is higher with " +
                high + " than with " + low + " (probability 1.00 [1.00, 1.00]).");
}

TEST_F(OppositeEffects, FewRunsAreNoEffectOfBothTasksTogether) {
  const StudyReport r = planted(40, -40, 4);
  EXPECT_FALSE(is_more_than_chance(r.lines[0], 2));
  EXPECT_PRED2(holds, r.answer, "none of 2 sets");
}

TEST_F(OppositeEffects, ResultsOfATaskEqualThoseOfItsOwnReport) {
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

// Two learning rates, with and without clipping, in two shapes: the rate has most effect at 16x4.
StudyPlan grid_plan(int seeds) {
  return plan_text("seeds = " + std::to_string(seeds) +
                   "\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\nlist = ['4x16', "
                   "'16x4']\n[grid]\nlearning_rate = [1e-4, 1e-3]\nclip_vloss = [true, false]\n");
}

TEST_F(Answers, EveryAxisIsComparedAllElseEqual) {
  const StudyPlan plan = grid_plan(6);
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    const bool large = config.learning_rate > 5e-4;
    const bool wide = config.num_envs == 16;
    return around((large ? 300.0 : wide ? 100.0 : 260.0) + (config.clip_vloss ? 0.0 : 1.0), seed);
  });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Learning rate, shape N x T and clip vloss on CartPole-v1");
  EXPECT_EQ(r.lines.size(), 12U);  // 4 of each: rates, shapes, clips
  EXPECT_EQ(r.lines[0].key, "learning_rate");
  EXPECT_GT(r.lines[0].effect, r.lines[2].effect);
  EXPECT_PRED2(begins, r.answer, "On CartPole-v1 at N = 16, T = 4, clip_vloss=");
  EXPECT_PRED2(holds, r.answer, ", the evaluation return is higher with learning_rate=0.001 (40");
  EXPECT_LE(words_of(r.answer), 30U);
  const std::string calls = "Neighbours that differ in one key alone, over all such pairs";
  using Row = std::vector<std::string>;
  EXPECT_EQ(row_of(r, calls, "larger learning_rate"), (Row{"4", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "smaller learning_rate"), (Row{"0", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "more N, less T"), (Row{"0", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "less N, more T"), (Row{"2", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "clip_vloss=false"), (Row{"0", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "clip_vloss=true"), (Row{"0", "4", "0.1"}));
  const std::vector<ReportTable> tables = report_tables(r);
  EXPECT_EQ(std::count_if(tables.begin(), tables.end(),
                          [](const ReportTable& table) {
                            return holds(table.below, "Shown: 3 of 12 such sets of arms.");
                          }),
            1);
  notes(r, "12 with enough runs; differences at 95 %: 6; ");
  notes(r, "by chance, if no arm differed: at most 0.6.");
}

TEST_F(Answers, WithoutDifferencesTheWidestIntervalIsNamed) {
  const StudyPlan plan = grid_plan(6);
  plant(plan, "s", [](int cell, int seed) { return around(100.0, seed + 3 * cell); });
  const StudyReport r = report({"s"});
  EXPECT_PRED2(begins, r.answer,
               "On CartPole-v1, no difference in evaluation return was found between 8 arms that "
               "differ in ");
  EXPECT_PRED2(holds, r.answer, "; the intervals allow up to ");
  EXPECT_LE(words_of(r.answer), 30U);
}

TEST_F(Answers, TooFewRunsOnSeveralAxesAreNotCalledEqual) {
  const StudyPlan plan = grid_plan(3);
  plant(plan, "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  EXPECT_PRED2(begins, report({"s"}).answer,
               "On CartPole-v1, the runs are too few to call a difference in evaluation return "
               "between 8 arms that differ in ");
}

TEST_F(Answers, OneDifferenceAmongManySetsIsNotAnAnswer) {
  const StudyPlan plan = grid_plan(6);
  // One arm of eight is a little higher, so some of its pairs are narrowly called.
  plant(plan, "s",
        [](int cell, int seed) { return around(cell == 0 ? 104.0 : 100.0, seed + 3 * cell); });
  const StudyReport r = report({"s"});
  ASSERT_TRUE(r.lines[0].differ);
  ASSERT_GT(12.0 * r.lines[0].chance, 0.05);
  EXPECT_EQ(r.answer,
            "On CartPole-v1, none of 12 sets of arms that differ in one key alone shows more than "
            "chance would.");
}

TEST_F(Answers, AClearDifferenceComesBeforeALargerOneThatMayBeChance) {
  const StudyPlan plan = grid_plan(8);
  // The large rate is better by ten in every run. One arm is far higher in all runs but one, which
  // chance does in 1 of 100 pairs; 12 sets of arms are compared.
  plant(plan, "s", [&](int cell, int seed) {
    if (cell == 0) return seed == 1 ? 0.0 : 1000.0;
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return (config.learning_rate > 5e-4 ? 110.0 : 100.0) + 0.01 * seed;
  });
  const StudyReport r = report({"s"});
  const auto largest = std::max_element(
      r.lines.begin(), r.lines.end(),
      [](const ReportLine& a, const ReportLine& b) { return a.effect < b.effect; });
  ASSERT_TRUE(largest->differ);
  ASSERT_GT(12.0 * largest->chance, 0.05);
  EXPECT_NE(largest, r.lines.begin());
  EXPECT_EQ(r.lines[0].key, "learning_rate");
  EXPECT_LE(12.0 * r.lines[0].chance, 0.05);
  EXPECT_PRED2(holds, r.answer, ", the evaluation return is higher with learning_rate=0.001 (");
}

TEST_F(Answers, FewPermutationsDoNotHideAClearDifference) {
  // With 100 permutations no chance is below 1 in 101; times 12 sets of arms that is 12 in 101.
  const StudyPlan plan = grid_plan(8);
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return around(config.learning_rate > 5e-4 ? 300.0 : 100.0, seed + 3 * cell);
  });
  const StudyReport r = report({"s"}, 1, 100);
  ASSERT_GT(12.0 / 101.0, 0.05);
  EXPECT_LE(12.0 * r.lines[0].chance, 0.05) << r.lines[0].chance;
  EXPECT_PRED2(holds, r.answer, ", the evaluation return is higher with learning_rate=0.001 (");
}

TEST_F(Answers, AllSetsTogetherMayShowWhatNoneShowsAlone) {
  // Two rates in four shapes, four runs each. All runs of one rate beat all of the other, which by
  // chance happens in 2 of 70 cases, too often for six sets of arms.
  const StudyPlan plan = plan_text(
      "seeds = 4\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\nlist = ['2x32', '4x16', "
      "'8x8', '16x4']\n[grid]\nlearning_rate = [1e-4, 2e-4]\n");
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return (config.learning_rate > 1.5e-4 ? 120.0 : 100.0) + seed;
  });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.answer,
            "On CartPole-v1, larger learning_rate is better in 4 of 4 neighbouring pairs and worse "
            "in 0, though no set of arms by itself shows more than chance.");
  EXPECT_LE(words_of(r.answer), 30U);
}

// Two tasks, two rates and two variants of three keys.
StudyPlan variants_plan() {
  return plan_text(
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_envs = 8\nnum_steps = 16\n"
      "[grid]\nenv_id = ['CartPole-v1', 'FrozenLake-v1']\nlearning_rate = [1e-3, 1e-2]\n"
      "[[variants]]\nname = 'adam'\nadam_eps = 1e-5\n"
      "[[variants]]\nname = 'big'\nadam_eps = 1e-2\nmax_grad_norm = 0.0\n");
}

TEST_F(Answers, VariantsKeepTheirNamesOnSeveralTasks) {
  plant(variants_plan(), "s", [](int cell, int seed) { return around(100.0 * (cell % 2), seed); });
  const StudyReport r = report({"s"});
  std::vector<std::string> names;
  for (const ReportArm& arm : r.arms) names.push_back(arm.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "8x16 learning_rate=0.001 adam", "8x16 learning_rate=0.001 big",
                       "8x16 learning_rate=0.01 adam", "8x16 learning_rate=0.01 big"}));
  EXPECT_EQ(r.arms[1].settings,
            (Overrides{{"adam_eps", "0.01"}, {"learning_rate", "0.001"}, {"max_grad_norm", "0"}}));
  // The value on a line of settings does not repeat what all have.
  const std::string table = "settings at learning_rate=0.001 on CartPole-v1";
  EXPECT_EQ(call_of(r, table, "big"), "leads");
  EXPECT_EQ(call_of(r, table, "adam"), "lower");
  EXPECT_EQ(call_of(r, "learning_rate at big on CartPole-v1", "learning_rate=0.01"),
            "no difference found");
  const std::string calls = "Neighbours that differ in one key alone, over all such pairs";
  using Row = std::vector<std::string>;
  EXPECT_EQ(row_of(r, calls, "big"), (Row{"4", "4", "0.1"}));
  EXPECT_EQ(row_of(r, calls, "adam"), (Row{"0", "4", "0.1"}));
}

TEST_F(Answers, NotesNameArmsAsTablesDo) {
  plant(variants_plan(), "s", [](int, int seed) { return around(100.0, seed); });
  change("s", "UPDATE cells SET note = 'not exact' WHERE id = 2");
  notes(report({"s"}), "8x16 learning_rate=0.001 big on CartPole-v1: not exact");
}

// As in a report on all tasks: the task is no part of an arm.
TEST_F(Answers, AReportOnOneOfSeveralTasksNamesTheSameArms) {
  plant(variants_plan(), "s", [](int, int seed) { return around(100.0, seed); });
  StudyReportOptions options{2000, 300, 1, 1};
  options.task = "FrozenLake-v1";
  const StudyReport r = make_study_report({path("s")}, options).take();
  ASSERT_EQ(r.arms.size(), 4U);
  EXPECT_EQ(r.arms[3].name, "8x16 learning_rate=0.01 big");
}

TEST_F(Answers, TrainingReturnsOfFullEpisodesLeaveNothingOut) {
  const StudyPlan plan = plan_text(
      "seeds = 6\npoints = 4\n[base]\nenv_id = 'Pendulum-v1'\ntotal_timesteps = 8192\n"
      "num_steps = 64\n[grid]\nnum_envs = [8, 16]\n");
  const auto score = [](int cell, int seed) { return around(100.0 * cell, seed); };
  plant(plan, "s", score);
  notes(report({"s"}), "leave out episodes");  // lengths are not known
  change("s", "INSERT INTO metrics SELECT run_id, 'episodic_length', point, 200 FROM points");
  notes(report({"s"}), "leave out episodes", false);
  change("s",
         "UPDATE metrics SET value = 199.5 WHERE key = 'episodic_length' AND run_id = 3 AND "
         "point = 2");
  notes(report({"s"}), "leave out episodes");
}

TEST_F(Answers, KeysThatVaryOnlyTogetherAreOneThing) {
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n"
                  "[[variants]]\nname = 'quick'\nlearning_rate = 1e-3\nent_coef = 0.1\n"
                  "[[variants]]\nname = 'slow'\nlearning_rate = 1e-4\nent_coef = 0.2\n"),
        "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].kind, LineKind::kSettings);
  EXPECT_EQ(r.heading, "Settings on CartPole-v1");
  EXPECT_PRED2(begins, r.answer, "On CartPole-v1, the evaluation return is higher with slow (2");
  EXPECT_PRED2(holds, r.answer, "]) than with quick (1");
}

TEST_F(Answers, APairThatDiffersByChanceIsNotCalled) {
  // Five equal arms, except that a comparison of one pair would call one lower.
  plant(plan_text("seeds = 8\npoints = 4\n[base]\ntotal_timesteps = 102400\n"
                  "[shapes]\nlist = ['2x32', '4x16', '8x8', '16x4', '32x2']\n"),
        "s", [](int cell, int seed) {
          const double spread = seed * 13.0;
          return 100.0 + (cell == 1 ? 30.0 : cell == 3 ? -24.0 : 0.0) + spread;
        });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.lines.size(), 1U);
  ASSERT_EQ(r.lines[0].standings[3], Standing::kLower);
  EXPECT_GT(r.lines[0].chance, 0.05);
  EXPECT_FALSE(r.lines[0].differ);
  EXPECT_PRED2(holds, r.answer, "no difference in evaluation return was found between 5 arms");
  EXPECT_PRED2(holds, r.answer, "; the intervals allow up to ");
  EXPECT_EQ(call_of(r, kLadder, "N = 16"), "no difference found");
  EXPECT_PRED2(holds, below(r, kLadder), "differ as much with probability 0.");
}

TEST_F(Answers, TasksWithEqualResultsAreNamedTogether) {
  std::string variants;
  for (const char* id : {"CartPole-v1", "Acrobot-v1", "FrozenLake-v1", "CliffWalking-v1"}) {
    variants += "'" + std::string(id) + "', ";
  }
  const StudyPlan plan = plan_text(
      "seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_envs = 4\nnum_steps = "
      "16\n[grid]\nenv_id = [" +
      variants + "]\nlearning_rate = [1e-4, 1e-3]\n");
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    const double sign = config.env_id == "FrozenLake-v1" ? -1.0 : 1.0;
    return around(config.learning_rate > 5e-4 ? 50.0 * sign : 0.0, seed);
  });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.heading, "Learning rate on 4 tasks");
  EXPECT_PRED2(
      begins, r.answer,
      "On FrozenLake-v1, the evaluation return is higher with learning_rate=1e-04 (101.2 [");
  EXPECT_PRED2(holds, r.answer, "]) than with learning_rate=0.001 (51.2 [");
  EXPECT_TRUE(r.answer.ends_with("; on CartPole-v1, Acrobot-v1 and CliffWalking-v1 it is lower."))
      << r.answer;
}

TEST_F(Answers, AnArmWithoutAScheduleIsNamedSo) {
  plant(
      plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_envs = 8\nnum_steps "
                "= 16\n[grid]\nshape_schedule = ['', '8x16 @ 0, 16x8 @ 0.5']\n"),
      "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.arms[0].other, "no shape_schedule");
  EXPECT_PRED2(holds, r.answer, " than with shape_schedule=none (");
}

}  // namespace
}  // namespace broadloom
