// Orders of planted curves.
#include "research/advise/ranking.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/advise/planted_trials.h"

namespace broadloom {
namespace {

constexpr std::int64_t kEver = 1 << 30;

TEST(Ranking, TheThresholdNeedsThreeEvaluationsInARow) {
  EXPECT_EQ(steps_to_threshold(curve(1, {50, 100, 100, 100}), 100.0, kEver), 2000);
  EXPECT_EQ(steps_to_threshold(curve(1, {100, 100, 50, 120, 99, 130, 140, 150}), 100.0, kEver),
            6000);
  EXPECT_FALSE(steps_to_threshold(curve(1, {50, 99, 100, 100}), 100.0, kEver))
      << "the last two are alone";
  EXPECT_FALSE(steps_to_threshold(curve(1, {50, 100, 100, 100}), 100.0, 1999));
  EXPECT_FALSE(steps_to_threshold(curve(1, {}), 100.0, kEver));
  const double ten_ones = 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1;
  ASSERT_LT(ten_ones, 1.0);
  EXPECT_EQ(steps_to_threshold(curve(1, {ten_ones, ten_ones, ten_ones}), 1.0, kEver), 1000);
  TrialCurve cut = curve(1, {100, 100, 100, 100});
  cut.points[1].unfinished = 1;
  EXPECT_FALSE(steps_to_threshold(cut, 100.0, kEver)) << "episodes that do not end are no success";
}

TEST(Ranking, WithoutAThresholdItIsNearTheBestMean) {
  AdviceEvidence evidence = planted_task();
  evidence.threshold = kNotKnown;
  EXPECT_TRUE(std::isnan(speed_threshold(evidence)));
  // One lucky seed is not the best mean.
  evidence.candidates = {tried(kWide, 1000.0, 1, {{10, 200}, {10, 0}}),
                         tried(kLong, 1000.0, 1, {{10, 150}, {10, 130}})};
  EXPECT_DOUBLE_EQ(speed_threshold(evidence), 0.9 * 140.0);
  evidence.candidates = {tried(kWide, 1000.0, 1, {{-10, -20}})};
  EXPECT_TRUE(std::isnan(speed_threshold(evidence))) << "nothing better than the untrained policy";
  evidence.candidates = {tried(kWide, 1000.0, 1, {{50, 60}})};
  evidence.candidates[0].trials[0].points[1].unfinished = 3;
  EXPECT_DOUBLE_EQ(speed_threshold(evidence), 0.9 * 50.0);
}

TEST(Ranking, SpeedIsMeasuredInCost) {
  AdviceEvidence evidence = planted_task();
  // Twice the steps at four times the speed.
  evidence.candidates = {tried(kLong, 1000.0, 1, {{0, 100, 100, 100}}),
                         tried(kWide, 4000.0, 1, {{0, 0, 0, 100, 100, 100}})};
  EXPECT_EQ(ranked(evidence, {0, 1}, 100.0), (std::vector<std::size_t>{1, 0}));
  evidence.counts_seconds = false;
  EXPECT_EQ(ranked(evidence, {0, 1}, 100.0), (std::vector<std::size_t>{0, 1}));
}

TEST(Ranking, TheHorizonIsTheShortestTraining) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kLong, 1000.0, 1, {{0, 0, 0, 0, 0, 0}}),
                         tried(kWide, 1000.0, 1, {{0, 10}}),
                         tried(kFast, 1000.0, 1, {{100, 100, 100}})};
  EXPECT_DOUBLE_EQ(common_horizon(evidence, {0, 1, 2}, 100.0), 2.0);
  EXPECT_DOUBLE_EQ(common_horizon(evidence, {0, 2}, 100.0), 6.0) << "who is there needs no more";
  EXPECT_DOUBLE_EQ(common_horizon(evidence, {2}, 100.0), 3.0);
  evidence.goal = AdviceGoal::kReturn;
  EXPECT_DOUBLE_EQ(common_horizon(evidence, {0, 2}, 100.0), 3.0) << "its return goes on";
}

TEST(Ranking, TrainingBeyondTheHorizonDoesNotCount) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kLong, 1000.0, 1, {{10, 10, 100, 100, 100}}),
                         tried(kWide, 1000.0, 1, {{20, 20}})};
  EXPECT_EQ(ranked(evidence, {0, 1}, 100.0).front(), 1U) << "by 2 s it has the larger area";
}

TEST(Ranking, AreaHoldsUntilTheNextEvaluation) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kLong, 1000.0, 1, {{10, 30, 50}})};
  const CandidateScore score = score_of(evidence, 0, 100.0, 3.0);
  EXPECT_DOUBLE_EQ(score.mean_area, (0.0 + 10.0 + 30.0) / 3.0);
  EXPECT_DOUBLE_EQ(score.mean_last, 50.0);
  EXPECT_DOUBLE_EQ(score.mean_cost, 3.0);
  EXPECT_EQ(score.reached, 0);
}

TEST(Ranking, BrokenTrainingsComeLast) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kFast, 1000.0, 1, {{100, 100}, {100, 100}}),
                         tried(kWide, 1000.0, 1, {{1, 1}, {1, 1}})};
  evidence.candidates[0].trials[1].error = "a loss is not finite";
  EXPECT_EQ(ranked(evidence, {0, 1}, 100.0), (std::vector<std::size_t>{1, 0}));
}

TEST(Ranking, ReturnIsTheLastEvaluation) {
  AdviceEvidence evidence = planted_task();
  evidence.goal = AdviceGoal::kReturn;
  evidence.candidates = {tried(kFast, 1000.0, 1, {{100, 100, 20}}),
                         tried(kWide, 1000.0, 1, {{1, 1, 30}})};
  EXPECT_EQ(ranked(evidence, {0, 1}, 100.0).front(), 1U);
}

TEST(Ranking, ProbabilityCountsPairs) {
  const AdviceEvidence evidence = planted_race();
  EXPECT_DOUBLE_EQ(compare_trials(evidence, 2, 1, 100.0).a_is_better.value, 1.0);
  EXPECT_DOUBLE_EQ(compare_trials(evidence, 1, 2, 100.0).a_is_better.value, 0.0);
  AdviceEvidence same = planted_race();
  same.candidates[1].trials = same.candidates[2].trials;
  const Estimate level = compare_trials(same, 1, 2, 100.0).a_is_better;
  EXPECT_DOUBLE_EQ(level.value, 0.5);
  EXPECT_TRUE(level.holds(0.5));
  EXPECT_EQ(level.count, 9);
  same.candidates[1].trials.clear();
  EXPECT_TRUE(std::isnan(compare_trials(same, 1, 2, 100.0).a_is_better.value));
}

TEST(Ranking, ThreeSeedsAreNeverEnoughForADifference) {
  AdviceEvidence evidence = planted_race();
  const TrialComparison three = compare_trials(evidence, 2, 1, 100.0);
  EXPECT_EQ(three.a_is_better.low, 1.0) << "an interval without width";
  EXPECT_FALSE(three.told_apart) << "2 in 20 by chance";
  for (CandidateEvidence& candidate : evidence.candidates) {
    candidate.trials.push_back(candidate.trials.front());
  }
  EXPECT_TRUE(compare_trials(evidence, 2, 1, 100.0).told_apart) << "2 in 70";
  EXPECT_TRUE(compare_trials(evidence, 1, 2, 100.0).told_apart);
}

TEST(Ranking, BrokenTrainingsHaveLearntNothing) {
  AdviceEvidence evidence = planted_race();
  ASSERT_TRUE(has_learnt(evidence, 2));
  evidence.candidates[2].trials[0].error = "a loss is not finite";
  EXPECT_TRUE(has_learnt(evidence, 2)) << "by the other two";
  for (TrialCurve& trial : evidence.candidates[2].trials) trial.error = "a loss is not finite";
  EXPECT_FALSE(has_learnt(evidence, 2));
}

TEST(Ranking, TrainingsBelowTheThresholdAreComparedByArea) {
  AdviceEvidence evidence = planted_task();
  evidence.candidates = {tried(kLong, 1000.0, 1, {{0, 10, 20}, {100, 100, 100}}),
                         tried(kWide, 1000.0, 1, {{0, 30, 40}, {0, 35, 45}})};
  // The one that reaches it beats both; the other one loses to both.
  EXPECT_DOUBLE_EQ(compare_trials(evidence, 0, 1, 100.0).a_is_better.value, 0.5);
}

}  // namespace
}  // namespace broadloom
