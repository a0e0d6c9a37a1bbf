#include "research/report/line_words.h"

#include "research/report/call_words.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

// A line over N whose arms stand as the letters say: B leads, = cannot be told from it, - lower,
// ? not compared.
ReportLine line_of(const std::string& letters, const std::string& key = "num_envs",
                   std::vector<std::string> values = {}) {
  ReportLine line;
  line.kind = key == "num_envs" ? LineKind::kWidthOfBatch : LineKind::kSetting;
  line.key = key;
  line.ordered = values.empty();
  for (std::size_t i = 0; i < letters.size(); ++i) {
    line.arms.push_back(static_cast<int>(i));
    line.values.push_back(values.empty() ? std::to_string(2 << i) : values[i]);
    const char c = letters[i];
    line.standings.push_back(c == 'B'   ? Standing::kLeads
                             : c == '=' ? Standing::kAlike
                             : c == '-' ? Standing::kLower
                                        : Standing::kUnknown);
    if (c == 'B') line.leader = static_cast<int>(i);
    line.ahead.emplace_back(
        c == 'B' ? std::nullopt
                 : std::optional(Estimate{5, -20.0 - static_cast<double>(i), 30, 10}));
  }
  line.differ = letters.find('-') != std::string::npos;
  return line;
}

std::string reading(const std::string& letters) { return reading_words(line_of(letters)); }

TEST(ReadingWords, SayWhereALineBreaks) {
  EXPECT_EQ(reading("=B=--"), "level from N = 2 to 8 and lower from 16 on");
  EXPECT_EQ(reading("B----"), "highest at N = 2 and lower from 4 on");
  EXPECT_EQ(reading("---=B"), "lower up to N = 8 and level from 16 on");
  EXPECT_EQ(reading("----B"), "lower up to N = 16 and highest at 32");
  EXPECT_EQ(reading("B=="), "");
}

TEST(ReadingWords, SayThatAnOptimumIsInTheMiddle) {
  EXPECT_EQ(reading("--=B=--"),
            "highest in the middle, at N = 8 to 32, and lower up to 4 and from 64 on");
  EXPECT_EQ(reading("-B-"), "highest in the middle, at N = 4, and lower up to 2 and from 8 on");
}

TEST(ReadingWords, DrawNoLineThroughWhatGoesUpAndDown) {
  EXPECT_EQ(reading("B-=-"),
            "highest at N = 2 and 8, which cannot be told apart, and lower at N = 4 and 16");
}

TEST(ReadingWords, SayNothingOfArmsOfWhichNothingIsTold) {
  EXPECT_EQ(reading("-?B"),
            "lower up to N = 2 and highest at 8 (too few runs, or not compared, at N = 4)");
  EXPECT_EQ(reading("=?B-?"),
            "level from N = 2 to 8 and lower from 16 on (too few runs, or not compared, at N = 4 "
            "and 32)");
  EXPECT_EQ(reading("B-=?-"),
            "highest at N = 2 and 8, which cannot be told apart, and lower at N = 4 and 32 (too "
            "few runs, or not compared, at N = 16)");
  EXPECT_EQ(reading_words(line_of("B?-", "activation", {"tanh", "relu", ""})),
            "highest with activation=tanh and lower with activation=none (too few runs, or not "
            "compared, with activation=relu)");
}

TEST(ReadingWords, OfWhatIsNoNumberNameTheValues) {
  EXPECT_EQ(reading_words(line_of("B--", "activation", {"tanh", "relu", ""})),
            "highest with activation=tanh and lower with activation=relu and none");
  EXPECT_EQ(reading_words(line_of("-B", "clip_vloss", {"true", "false"})),
            "higher with clip_vloss=false than with clip_vloss=true");
}

TEST(Calls, AreAsLikelyByChanceAsABinomialSays) {
  LineCalls calls;
  calls.pairs = 10;
  EXPECT_EQ(chance_of(calls), 1.0);  // none
  calls.later_better = 1;
  EXPECT_NEAR(chance_of(calls), 2 * (1 - 0.776330), 1e-5);  // 0.975^10
  calls.earlier_better = 2;
  EXPECT_NEAR(chance_of(calls), 2 * (1 - 0.776330 - 0.199059), 1e-5);  // and 10 x 0.025 x 0.975^9
  calls.pairs = 84;
  calls.later_better = 11;
  EXPECT_LT(chance_of(calls), 1e-4);
}

TEST(Room, IsOfThoseThatCannotBeToldApart) {
  EXPECT_EQ(room_of(line_of("B==")), 30.0);
  EXPECT_EQ(room_of(line_of("B--")), 0.0);  // all are told apart
  ReportLine called_by_chance = line_of("B--");
  called_by_chance.differ = false;
  EXPECT_EQ(room_of(called_by_chance), 30.0);
}

class Lines : public PlantedTest {
 protected:
  static std::string text(const StudyReport& report) {
    std::string all = report.answer + "\n";
    for (const SummaryPart& part : report.summary) {
      for (const std::string& line : part.lines) all += line + "\n";
    }
    return all;
  }
  static void says(const StudyReport& report, const std::string& words) {
    EXPECT_NE(text(report).find(words), std::string::npos) << words << "\n---\n" << text(report);
  }
};

// Two learning rates, with and without clipping, in two shapes: the rate does most at 16x4.
StudyPlan grid_plan(int seeds) {
  return plan_text("seeds = " + std::to_string(seeds) +
                   "\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\nlist = ['4x16', "
                   "'16x4']\n[grid]\nlearning_rate = [1e-4, 1e-3]\nclip_vloss = [true, false]\n");
}

TEST_F(Lines, EveryAxisOfAGridIsComparedAllElseEqualTheLargestEffectFirst) {
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
  EXPECT_EQ(r.answer.find("Of the 3 things that vary, the learning rate does most: on CartPole-v1 "
                          "at N = 16, T = 4 with clip_vloss="),
            0U)
      << r.answer;
  says(r,
       "Of two learning_rate, neighbours that are equal in all else, the larger is called better "
       "in 4 of 4 pairs and the smaller in 0; by chance at most 0.1 each would be.");
  says(r,
       "Of two blocks of one batch, neighbours that are equal in all else, the wider (more N) is "
       "called better in 0 of 4 pairs and the longer (more T) in 2;");
  says(r,
       "Of two clip_vloss, neighbours that are equal in all else, false is called better in 0 of "
       "4 pairs and true in 0;");
  says(r,
       "Of 12 sets of arms that differ in one thing alone, 6 show a difference at 95 %; if no arm "
       "differed, 0.6 at most would, by chance.");
}

TEST_F(Lines, WhereNothingDiffersAlongSeveralAxesTheWidestRoomIsNamed) {
  const StudyPlan plan = grid_plan(6);
  plant(plan, "s", [](int cell, int seed) { return around(100.0, seed + 3 * cell); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(
      r.answer.find("No difference of the evaluation return was found on CartPole-v1 between 8 "
                    "arms that are equal in all but "),
      0U)
      << r.answer;
  EXPECT_NE(r.answer.find("; the intervals leave room for differences of up to "),
            std::string::npos);
}

TEST_F(Lines, RunsTooFewToShowADifferenceAlongSeveralAxesAreNotSaidToShowNone) {
  const StudyPlan plan = grid_plan(3);
  plant(plan, "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  EXPECT_EQ(report({"s"}).answer.find("The runs are too few to call a difference of the evaluation "
                                      "return on CartPole-v1 between 8 arms that are equal in all "
                                      "but "),
            0U)
      << report({"s"}).answer;
}

TEST_F(Lines, OneDifferenceAmongManySetsIsNotAnAnswerThoughItIsCalled) {
  const StudyPlan plan = grid_plan(6);
  // One arm of eight is a little higher: some of the pairs that it is in are called, narrowly.
  plant(plan, "s",
        [](int cell, int seed) { return around(cell == 0 ? 104.0 : 100.0, seed + 3 * cell); });
  const StudyReport r = report({"s"});
  ASSERT_TRUE(r.lines[0].differ);
  ASSERT_GT(12.0 * r.lines[0].chance, 0.05);
  EXPECT_EQ(r.answer.find("Of 12 sets of arms that differ in one thing alone, the one that differs "
                          "most does so no more than by chance: on CartPole-v1 at "),
            0U)
      << r.answer;
}

TEST_F(Lines, AClearDifferenceIsNamedBeforeALargerOneThatMayBeChance) {
  const StudyPlan plan = grid_plan(8);
  // The large rate is better by ten in every run; and of one arm all runs but one are far higher,
  // which chance does in 1 of 100 pairs, and 12 sets of arms are compared.
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
  EXPECT_EQ(r.answer.find("Of the 3 things that vary, the learning rate does most"), 0U)
      << r.answer;
}

TEST_F(Lines, AClearDifferenceStandsBesideManySetsThoughThereAreFewPermutations) {
  // Of 100 permutations no chance is below 1 in 101, which 12 sets of arms make 12 in 101.
  const StudyPlan plan = grid_plan(8);
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return around(config.learning_rate > 5e-4 ? 300.0 : 100.0, seed + 3 * cell);
  });
  const StudyReport r = report({"s"}, 1, 100);
  ASSERT_GT(12.0 / 101.0, 0.05);
  EXPECT_LE(12.0 * r.lines[0].chance, 0.05) << r.lines[0].chance;
  EXPECT_EQ(r.answer.find("Of the 3 things that vary, the learning rate does most"), 0U)
      << r.answer;
}

TEST_F(Lines, WhatNoSetShowsByItselfAllOfThemMayShowTogether) {
  // Two rates in four shapes, four runs each: all of one are above all of the other, which four
  // runs can hardly say by themselves (2 in 70) and six sets of arms less.
  const StudyPlan plan = plan_text(
      "seeds = 4\npoints = 4\n[base]\ntotal_timesteps = 102400\n[shapes]\nlist = ['2x32', '4x16', "
      "'8x8', '16x4']\n[grid]\nlearning_rate = [1e-4, 2e-4]\n");
  plant(plan, "s", [&](int cell, int seed) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    return (config.learning_rate > 1.5e-4 ? 120.0 : 100.0) + seed;
  });
  const StudyReport r = report({"s"});
  EXPECT_EQ(
      r.answer,
      "On CartPole-v1 no set of arms that differ in one thing alone shows more than chance "
      "would, but together they do: of two learning_rate, neighbours that are equal in all "
      "else, the larger is called better in 4 of 4 pairs and the smaller in 0; by chance at most "
      "0.1 each would be.");
}

TEST_F(Lines, KeysThatVaryTogetherOnlyAreOneThing) {
  plant(plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\n"
                  "[[variants]]\nname = 'quick'\nlearning_rate = 1e-3\nent_coef = 0.1\n"
                  "[[variants]]\nname = 'slow'\nlearning_rate = 1e-4\nent_coef = 0.2\n"),
        "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.lines.size(), 1U);
  EXPECT_EQ(r.lines[0].kind, LineKind::kSettings);
  EXPECT_EQ(r.heading, "Settings on CartPole-v1");
  says(r, "the evaluation return is higher with slow than with quick: 2");
}

TEST_F(Lines, WhatChanceDoesIsNotCalledADifferenceThoughAPairIs) {
  // Five arms that are alike but for one that a pair of comparisons would call.
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
  says(r,
       "no difference of the evaluation return was found from N = 2 to 32 (arms that are all "
       "alike differ as much with probability 0.");
  says(r, "; the intervals leave room for differences of up to ");
}

TEST_F(Lines, OfManyTasksThoseThatSayTheSameAreNamedTogether) {
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
  EXPECT_EQ(r.answer,
            "It depends on the task: on CartPole-v1, Acrobot-v1 and CliffWalking-v1 the evaluation "
            "return is higher with learning_rate=0.001 than with learning_rate=1e-04; on "
            "FrozenLake-v1 the evaluation return is higher with learning_rate=1e-04 than with "
            "learning_rate=0.001.");
}

TEST_F(Lines, AnArmWithoutAScheduleIsSaidToHaveNone) {
  plant(
      plan_text("seeds = 6\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_envs = 8\nnum_steps "
                "= 16\n[grid]\nshape_schedule = ['', '8x16 @ 0, 16x8 @ 0.5']\n"),
      "s", [](int cell, int seed) { return around(100.0 * cell, seed); });
  const StudyReport r = report({"s"});
  EXPECT_EQ(r.arms[0].other, "no shape_schedule");
  says(r, "than with shape_schedule=none");
  EXPECT_EQ(text(r).find("shape_schedule= "), std::string::npos);
}

}  // namespace
}  // namespace broadloom
