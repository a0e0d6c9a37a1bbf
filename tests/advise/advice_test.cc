// Every sentence of advice, from planted evidence.
#include "research/advise/advice.h"

#include <gtest/gtest.h>

#include "research/advise/advice_texts.h"
#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

// Enough trainings of each candidate to show a difference.
AdviceEvidence longer_race() {
  AdviceEvidence evidence = planted_race();
  for (CandidateEvidence& candidate : evidence.candidates) {
    candidate.trials.push_back(candidate.trials.front());
    candidate.trials.back().seed = candidate.trials.size();
  }
  return evidence;
}

TEST(Advice, NamesTheFirstAtTheThreshold) {
  const Advice advice = advice_of(planted_race());
  EXPECT_EQ(advice.verdict, AdviceVerdict::kReached);
  EXPECT_EQ(advice.order, (std::vector<std::size_t>{2, 1, 3, 0}));
  EXPECT_EQ(advice.answer,
            "Train Planted-v0 with 64 x 16 (N x T), minibatches of 256, 4 epochs and a constant "
            "learning rate of 0.001.");
  EXPECT_DOUBLE_EQ(advice.cost.value, 2.0);
  EXPECT_DOUBLE_EQ(advice.steps.value, 2000.0);
  EXPECT_EQ(advice.expected,
            "It was at 100, the task's own threshold, after 2 s, 2,000 environment steps of "
            "training on this machine with 2 threads (in 3 of 3 seeds).");
}

TEST(Advice, NamesTheMeasurementsBehindItsCandidates) {
  AdviceEvidence evidence = planted_race();
  const char* const whys[] = {"the defaults", "of a page", "of another page", "of a page"};
  for (std::size_t c = 0; c < evidence.candidates.size(); ++c) evidence.candidates[c].why = whys[c];
  EXPECT_EQ(advice_of(evidence).tried,
            (std::vector<std::string>{
                "4 x 128, minibatches of 128, 4 epochs, learning rate 0.00025: the defaults.",
                "2 settings: of a page.",
                "64 x 16, minibatches of 256, 4 epochs, learning rate 0.001: of another page."}));
  evidence.held = {"num_steps", "learning_rate"};
  EXPECT_EQ(advice_of(evidence).tried.back(),
            "num_steps, learning_rate were set, so these measurements had other values of them.");
  evidence.rule = AdviceRule::kGradient;
  EXPECT_TRUE(advice_of(evidence).tried.empty());
}

TEST(Advice, IntervalsNeedFiveSeeds) {
  AdviceEvidence evidence = planted_race();
  for (std::uint64_t seed : {4, 5}) {
    evidence.candidates[2].trials.push_back(curve(seed, {50, 60, 110, 120, 110}));
  }
  EXPECT_TRUE(says({advice_of(evidence).expected}, {"95 % interval over 5 of 5 seeds"}));
}

TEST(Advice, GivesReasonsForEachKey) {
  const Advice advice = advice_of(planted_race());
  EXPECT_TRUE(says(advice.because, {"best with another shape was 8 x 128",
                                    "it took 3 s to the threshold, the advised setting 2 s."}));
  EXPECT_TRUE(
      says(advice.because, {"best with another learning rate was 64 x 16", "learning rate 0.004",
                            "by 4 s it reached the threshold with 0 of 3 seeds, the advised "
                            "setting with 3 of 3"}));
  EXPECT_FALSE(says(advice.because, {"number of epochs"})) << "all have 4";
  EXPECT_TRUE(says(advice.because, {"Against the defaults (4 x 128",
                                    ", the best with another minibatch): by 2 s these reached",
                                    "probability 1 (so in all of 9"}));
}

TEST(Advice, NamesARivalOnceAndItsTimeWithThreeDigits) {
  AdviceEvidence evidence = planted_race();
  // The next best has another shape, the same minibatch, and another learning rate.
  evidence.candidates.pop_back();
  evidence.candidates[1].candidate.learning_rate = 2e-3;
  evidence.candidates[1].steps_per_second = evidence.candidates[2].steps_per_second = 27000.0;
  const Advice advice = advice_of(evidence);
  EXPECT_TRUE(says(advice.because, {"The best with another shape or learning rate was 8 x 128",
                                    "it took 0.111 s to the threshold, the advised setting "
                                    "0.0741 s."}));
  EXPECT_FALSE(says(advice.because, {"The best with another learning rate"}));
}

TEST(Advice, SaysWhoseMeanReturnIsMeant) {
  AdviceEvidence evidence = planted_race();
  evidence.threshold = 500.0;
  EXPECT_TRUE(says(advice_of(evidence).because, {"Against the defaults", "these returned ",
                                                 " on average up to 2 s, the advised "
                                                 "setting "}));
}

TEST(Advice, SaysWhetherRunnersUpDiffer) {
  EXPECT_TRUE(says(advice_of(planted_race()).changes_mind, {"More seeds", "not told apart"}))
      << "of three trainings none is";
  AdviceEvidence evidence = longer_race();
  Advice advice = advice_of(evidence);
  ASSERT_EQ(advice.runners_up.size(), 2U);
  EXPECT_EQ(advice.runners_up[0].candidate, 1U);
  EXPECT_FALSE(says(advice.changes_mind, {"More seeds"}));
  evidence.candidates[1].trials[0] = curve(1, {50, 108, 120, 110});
  evidence.candidates[1].trials[1] = curve(2, {101, 108, 120, 110});
  advice = advice_of(evidence);
  EXPECT_TRUE(says(advice.changes_mind, {"More seeds", "not told apart"}));
}

TEST(Advice, SaysIfAverageAndPairsDisagree) {
  AdviceEvidence evidence = planted_race();
  // Faster with two seeds, but the third does not reach it.
  evidence.candidates[1].trials = {curve(1, {100, 110, 110}), curve(2, {100, 110, 110}),
                                   curve(3, {0, 0, 0, 0, 0, 0, 0, 0})};
  const Advice advice = advice_of(evidence);
  ASSERT_EQ(advice.order.front(), 2U);
  EXPECT_NE(runner_up_text(evidence, advice.runners_up[0]).find("behind in most pairs"),
            std::string::npos);
}

TEST(Advice, SaysWhatStepsInsteadOfSecondsWouldAdvise) {
  AdviceEvidence evidence = planted_race();
  EXPECT_TRUE(
      says(advice_of(evidence).changes_mind, {"1,000 steps/s", "be ahead of the runners-up, too"}));
  evidence.candidates[2].steps_per_second = 4000.0;
  evidence.candidates[2].trials = {curve(1, {0, 0, 0, 100, 100, 100}),
                                   curve(2, {0, 0, 0, 100, 100, 100}),
                                   curve(3, {0, 0, 0, 100, 100, 100})};
  EXPECT_TRUE(
      says(advice_of(evidence).changes_mind, {"4,000 steps/s", "8 x 128", "would be ahead of it"}));
  evidence.counts_seconds = false;
  EXPECT_FALSE(says(advice_of(evidence).changes_mind, {"Another machine"}));
}

TEST(Advice, IgnoresStepsWithoutAnEvaluationOfAFastSetting) {
  AdviceEvidence evidence = planted_race();
  evidence.threshold = 500.0;
  evidence.candidates[1].trials[0] = curve(1, {20});  // the others first after 2,000 steps
  for (TrialCurve& trial : evidence.candidates[2].trials) trial.points.erase(trial.points.begin());
  const Advice advice = advice_of(evidence);
  EXPECT_TRUE(says(advice.changes_mind, {"Another machine", "steps/s."}));
  EXPECT_FALSE(says(advice.changes_mind, {"By environment steps"}));
}

TEST(Advice, DoesNotCallGivenSettingsDefaults) {
  AdviceEvidence evidence = planted_race();
  evidence.held = {"num_envs"};
  EXPECT_TRUE(says(advice_of(evidence).because, {"Against the defaults beside what was set (4 x"}));
  evidence.candidates[2].is_default = true;
  EXPECT_TRUE(says({advice_of(evidence).answer}, {"which are its defaults beside what was set."}));
  evidence.held.clear();
  EXPECT_TRUE(says({advice_of(evidence).answer}, {"which are its defaults."}));
}

TEST(Advice, SaysIfSeedsAreLeftOutOfTheTime) {
  AdviceEvidence evidence = planted_race();
  evidence.candidates[2].trials[2] = curve(3, {40, 50, 60, 70});
  evidence.candidates.erase(evidence.candidates.begin() + 1);  // otherwise it would be ahead
  const Advice advice = advice_of(evidence);
  ASSERT_EQ(advice.reached, 2);
  EXPECT_TRUE(says({advice.expected}, {"(in 2 of 3 seeds). The other seed was not there by 4 s"}));
}

TEST(Advice, DoesNotClaimAnUnmetThreshold) {
  AdviceEvidence evidence = planted_race();
  evidence.threshold = 500.0;
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kNotReached);
  EXPECT_TRUE(says({advice.expected}, {"It was not at 500", "0 of 3 were", "from 0 untrained"}));
  EXPECT_TRUE(says(advice.changes_mind, {"A longer budget", "no setting was shown"}));
}

TEST(Advice, DoesNotCallEqualSettingsAhead) {
  AdviceEvidence evidence = longer_race();
  evidence.threshold = 500.0;
  EXPECT_TRUE(
      says({advice_of(evidence).answer}, {"of 0.001. It led 3 others when the budget ended."}));
  for (CandidateEvidence& candidate : evidence.candidates) {
    candidate.rungs = 2;
    for (TrialCurve& trial : candidate.trials) trial = curve(trial.seed, {50, 80, 80, 80});
  }
  EXPECT_TRUE(says({advice_of(evidence).answer},
                   {"It led 3 others when the budget ended, though not clearly."}));
}

TEST(Advice, HasNoWinnerIfNothingLearnt) {
  AdviceEvidence evidence = planted_race();
  for (CandidateEvidence& candidate : evidence.candidates) {
    for (TrialCurve& trial : candidate.trials) trial = curve(trial.seed, {0, 4, -3, 2});
  }
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kNothing);
  EXPECT_TRUE(says({advice.answer}, {"No advice: after 60.0 s none of 4 settings",
                                     "the best of all trainings reached 2"}));
  EXPECT_EQ(advice.expected, "");
  EXPECT_TRUE(advice.runners_up.empty());
  EXPECT_TRUE(says(advice.changes_mind, {"--ent_coef"}));
  EXPECT_FALSE(says(advice.changes_mind, {"time limit"}));
  evidence.max_episode_steps = 0;
  EXPECT_TRUE(says(advice_of(evidence).changes_mind, {"A time limit", "have none"}));
}

TEST(Advice, PrefersASettingThatLearntDespiteABrokenTraining) {
  AdviceEvidence evidence = planted_race();
  for (const std::size_t c : {0U, 1U, 3U}) {
    for (TrialCurve& trial : evidence.candidates[c].trials)
      trial = curve(trial.seed, {0, 4, -3, 2});
  }
  evidence.candidates[2].trials[1].error = "a loss is not finite";
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.order.front(), 2U);
  EXPECT_EQ(advice.order.size(), 4U);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kReached);
  EXPECT_EQ(advice.reached, 2);
  EXPECT_TRUE(says(advice.changes_mind, {"breaks down: 1 of 3 of the advised setting broke down"}));
  EXPECT_FALSE(says(advice_of(planted_race()).changes_mind, {"broke down"}));
}

TEST(Advice, DoesNotAdviseASettingThatAlwaysBroke) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kWide, 1000.0, 1, {{50, 110, 120, 110}, {60, 120, 130, 110}})};
  ASSERT_EQ(advice_of(evidence).verdict, AdviceVerdict::kReached);
  for (TrialCurve& trial : evidence.candidates[0].trials) trial.error = "a loss is not finite";
  EXPECT_EQ(advice_of(evidence).verdict, AdviceVerdict::kNothing);
}

TEST(Advice, SaysNoneLeftTheFirstRungIfSo) {
  AdviceEvidence evidence = planted_race();
  EXPECT_TRUE(
      says(advice_of(evidence).not_known, {"Later results of the setting that left after"}));
  evidence.rungs = {{2.0, 4}, {4.0, 4}};
  EXPECT_FALSE(says(advice_of(evidence).not_known, {"that left after"}));
}

TEST(Advice, OneLuckySeedIsNoLearning) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kWide, 1000.0, 1, {{0, 90}, {0, 1}, {0, 2}})};
  EXPECT_EQ(advice_of(evidence).verdict, AdviceVerdict::kNothing);
  evidence.candidates = {tried(kWide, 1000.0, 1, {{0, 90}, {0, 80}, {0, 2}})};
  EXPECT_EQ(advice_of(evidence).verdict, AdviceVerdict::kNotReached);
}

TEST(Advice, EndlessEpisodesAreNoLearning) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kWide, 1000.0, 1, {{100, 100}, {100, 100}, {100, 100}})};
  for (TrialCurve& trial : evidence.candidates[0].trials) {
    for (TrialPoint& point : trial.points) point.unfinished = 10;
  }
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kNothing);
  EXPECT_TRUE(says({advice.answer}, {"In 3 of the trainings", "did not end"}));
}

TEST(Advice, SaysIfItWasStoppedAtOnce) {
  AdviceEvidence evidence = planted_task();
  evidence.interrupted = true;
  evidence.spent_seconds = 0.25;
  evidence.candidates = {tried(kWide, 1000.0, 0, {})};
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kNothing);
  EXPECT_EQ(advice.answer, "No advice: after 0.2 s nothing had been evaluated.");
  EXPECT_TRUE(says(advice.not_known, {"It was stopped after 0.2 s"}));
  EXPECT_TRUE(says(advice.changes_mind, {"Letting it go on"}));
  EXPECT_FALSE(says(advice.changes_mind, {"longer budget"}));
}

TEST(Advice, NamesTheReturnsForTheGoalReturn) {
  AdviceEvidence evidence = planted_race();
  evidence.goal = AdviceGoal::kReturn;
  for (CandidateEvidence& candidate : evidence.candidates) candidate.rungs = 1;
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.order.front(), 2U) << "at 2 s, where the default left";
  EXPECT_TRUE(says({advice.expected}, {"Its evaluations reached 110 after 4 s"}));
  EXPECT_TRUE(says(advice.because, {"it returned", "at 4 s, the advised setting 110"}));
}

TEST(Advice, NamesTheSourceOfItsOwnThreshold) {
  AdviceEvidence evidence = planted_race();
  evidence.threshold = kNotKnown;
  evidence.threshold_source = "best seen";
  const Advice advice = advice_of(evidence);
  EXPECT_TRUE(
      says({advice.expected}, {"90 % of the way from the untrained policy's 0 to the best seen"}));
  EXPECT_TRUE(says(advice.changes_mind, {"Another threshold", "--threshold"}));
}

TEST(Advice, CountsLeftOutCandidates) {
  AdviceEvidence evidence = planted_race();
  EXPECT_FALSE(says(advice_of(evidence).changes_mind, {"left out"}));
  evidence.left_out = 7;
  EXPECT_TRUE(
      says(advice_of(evidence).changes_mind, {"7 settings of the portfolio were left out"}));
  EXPECT_TRUE(says(advice_of(evidence).not_known, {"the setting that left after 2 s"}));
  evidence.notes = {"A note."};
  evidence.deterministic = false;
  EXPECT_TRUE(says(advice_of(evidence).not_known, {"A note."}));
  EXPECT_TRUE(says(advice_of(evidence).not_known, {"not deterministic"}));
  EXPECT_TRUE(
      says(advice_of(evidence).not_known, {"the laboratory measured nothing (it was not asked)"}));
}

GradientEvidence planted_gradient(double own, double best) {
  const auto estimate = [](double x, double half) { return Estimate{x, x - half, x + half, 40}; };
  const Estimate none = without_interval(kNotKnown, 0);
  GradientEvidence gradient;
  gradient.policy = kWide;
  gradient.global_step = 1000;
  gradient.rows = {{64, 16, estimate(own, 0.1), none, none, none, estimate(5000.0, 1000.0)},
                   {4, 256, estimate(best, 0.1), none, none, none, estimate(9000.0, 1000.0)}};
  return gradient;
}

TEST(Advice, GivesTheLaboratorysObjections) {
  AdviceEvidence evidence = planted_race();
  evidence.gradient = planted_gradient(0.3, 0.9);
  Advice advice = advice_of(evidence);
  EXPECT_TRUE(says(advice.because, {"blocks of 16 steps has a cosine of 0.30", "of 256 steps 0.90",
                                    "longer blocks point better"}));
  EXPECT_TRUE(says(advice.because, {"critical batch there is 5,000 samples (4,000 to 6,000)",
                                    "the advised block has 1,024: noise outweighs"}));
  evidence.gradient = planted_gradient(0.85, 0.9);
  EXPECT_TRUE(says(advice_of(evidence).because, {"no other T that was measured is apart"}));
  evidence.gradient.rows[0].cosine = without_interval(kNotKnown, 0);
  EXPECT_TRUE(says(advice_of(evidence).because, {"cannot be told from zero"}));
  evidence.gradient.rows[0].critical_batch = {5000.0, -100.0, 9000.0, 40};
  EXPECT_TRUE(says(advice_of(evidence).because, {"cannot be told there at T = 16"}));
  evidence.gradient.rows[0].critical_batch = {500.0, 100.0, kNotKnown, 40};
  EXPECT_TRUE(says(advice_of(evidence).because, {"500 samples (100 or more)"}));
}

TEST(Advice, TheGradientRuleKeepsItsChoice) {
  AdviceEvidence evidence = planted_race();
  evidence.rule = AdviceRule::kGradient;
  evidence.rule_words = "The rule's own words.";
  evidence.chosen = 3;
  const Advice advice = advice_of(evidence);
  EXPECT_EQ(advice.order.front(), 3U);
  EXPECT_EQ(advice.verdict, AdviceVerdict::kNotReached) << "though others were there";
  EXPECT_TRUE(says(advice.because, {"The rule's own words."}));
  EXPECT_FALSE(says(advice.because, {"best with another"}));
  // The default does better in the trials, which must come first.
  evidence.candidates[0].trials = {curve(1, {90, 95, 95, 95}), curve(2, {90, 95, 95, 95})};
  const Advice worse = advice_of(evidence);
  EXPECT_EQ(worse.order.front(), 3U);
  EXPECT_TRUE(says({worse.answer}, {"The laboratory's rule says 64 x 16",
                                    "the task's defaults, 4 x 128", "did better"}));
  EXPECT_FALSE(says(worse.changes_mind, {"the laboratory's choice that learns"}));
  // If the choice learnt nothing, the advice says so and names another.
  evidence.candidates[3].trials = {curve(1, {1, 2}), curve(2, {1, 2})};
  const Advice other = advice_of(evidence);
  EXPECT_NE(other.order.front(), 3U);
  EXPECT_TRUE(says(other.changes_mind, {"the laboratory's choice that learns", "64 x 16"}));
}

TEST(Advice, TextsOfNumbers) {
  EXPECT_EQ(return_text(475.0), "475");
  EXPECT_EQ(return_text(-0.1234), "-0.123");
  EXPECT_EQ(return_text(-1234.5), "-1,235");
  EXPECT_EQ(return_text(kNotKnown), "-");
  EXPECT_EQ(return_text(-0.0), "0");
  AdviceEvidence evidence = planted_task();
  EXPECT_EQ(cost_text(evidence, 0.4213), "0.42 s");
  EXPECT_EQ(cost_text(evidence, 0.4213, 3), "0.421 s");
  EXPECT_EQ(cost_text(evidence, 321.4), "321 s");
  evidence.counts_seconds = false;
  EXPECT_EQ(cost_text(evidence, 12000.0), "12,000 environment steps");
}

}  // namespace
}  // namespace broadloom
