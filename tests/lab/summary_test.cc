// Every sentence from planted numbers, and none that the intervals do not support.
#include "research/lab/summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace broadloom {
namespace {

std::string only_line(const std::vector<std::string>& lines) {
  return lines.size() == 1 ? lines[0] : std::to_string(lines.size()) + " lines";
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Estimate about(double value, double half = 0.05) { return {value, value - half, value + half, 9}; }

bool holds(const std::string& line, const std::string& part) {
  return line.find(part) != std::string::npos;
}

// Agreement by shape with 64 transitions: 1 x 64, 4 x 16, 16 x 4, 64 x 1.
GradientStudyReport report_of(const std::vector<double>& own, double half = 0.05) {
  GradientStudyReport r;
  r.lambdas = {0.95};
  r.gae_lambda = 0.95;
  r.agreement.emplace();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const BlockShape shape{1 << 2 * i, 64 >> 2 * i};
    r.agreement->push_back({shape, 0.95, "own", false, 100, about(0.9), about(0.1)});  // not used
    r.agreement->push_back({shape, 0.95, "own", true, 100, about(own[i], half), about(0.1)});
  }
  return r;
}

void add_critic(GradientStudyReport& r, const std::string& critic,
                const std::vector<double>& agreements) {
  for (std::size_t i = 0; i < agreements.size(); ++i) {
    const BlockShape shape{1 << 2 * i, 64 >> 2 * i};
    r.agreement->push_back({shape, 0.95, critic, true, 100, about(agreements[i]), about(0.1)});
  }
}

TEST(Summary, TheBestShapeIsNamedWithEqualOnes) {
  EXPECT_EQ(summary_of(report_of({0.1, 0.3, 0.55, 0.6}))[0],
            "Best shape for one block under the run's critic at lambda 0.95: 64 x 1 (0.60 [0.55, "
            "0.65]), level with 16 x 4; least agrees 1 x 64 (0.10 [0.05, 0.15]).");
  EXPECT_PRED2(holds, summary_of(report_of({0.9, 0.3, 0.55, 0.6}))[0],
               "lambda 0.95: 1 x 64 (0.90 [0.85, 0.95]); least");
  EXPECT_PRED2(holds, summary_of(report_of({0.1, 0.3, 0.2, 0.25}, 0.2))[0],
               "No shape is found to be best for one block under the run's critic at "
               "lambda 0.95: agreement is 0.10 to 0.30");
  EXPECT_EQ(
      summary_of(report_of({0.5})),
      (std::vector<std::string>{"One block of 1 x 64 agrees with the true gradient by 0.50 [0.45, "
                                "0.55] under the run's critic at lambda 0.95.",
                                "Blocks of every shape point the true way on average."}));
}

TEST(Summary, DirectionsAreCalledReversedOnlyBelowZero) {
  EXPECT_EQ(
      summary_of(report_of({0.4, 0.2, 0.01, -0.4}))[1],
      "From T = 4 down one block's direction is reversed or not shown to point the true way (0.01 "
      "[-0.04, 0.06] at T = 4, -0.40 [-0.45, -0.35] at T = 1).");
  EXPECT_EQ(summary_of(report_of({0.4, 0.2, 0.1, -0.4}))[1],
            "From T = 1 down one block's direction is reversed: it points away on average (-0.40 "
            "[-0.45, -0.35] at T = 1).");
  EXPECT_PRED2(
      holds, summary_of(report_of({0.04, 0.02, 0.1, 0.4}))[1],
      "From T = 16 up one block's direction is not shown to point the true way: its interval "
      "contains zero (0.04 [-0.01, 0.09] at T = 64, 0.02");
  EXPECT_PRED2(holds, summary_of(report_of({0.4, 0.02, 0.1, 0.4}))[1],
               "In 1 of 4 shapes (4 x 16) one");
  EXPECT_PRED2(holds, summary_of(report_of({-0.4, -0.2, -0.1, -0.4}))[1], "At every shape");
  EXPECT_PRED2(holds, only_line(summary_of(report_of({kNone, kNone}))), "cannot be told");
}

TEST(Summary, TheCriticIsBlamedOnlyIfIntervalsAreSeparate) {
  GradientStudyReport r = report_of({0.4, 0.2, 0.1, -0.4});
  add_critic(r, "refitted", {0.42, 0.4, 0.5, 0.6});
  add_critic(r, "exact", {0.38, 0.2, 0.1, -0.4});
  const std::vector<std::string> lines = summary_of(r);
  EXPECT_EQ(lines[2],
            "Under a critic refitted to the same policy's returns agreement is higher in 3 of 4 "
            "shapes (4 x 16, 16 x 4 and 64 x 1), most apart at 64 x 1: 0.60 [0.55, 0.65] against "
            "-0.40 [-0.45, -0.35]. Highest under it: 64 x 1 (0.60 [0.55, 0.65]).");
  EXPECT_PRED2(holds, lines[3], "Under the exact values agreement is not found to differ");
  GradientStudyReport worse = report_of({0.4, 0.2, 0.1, 0.4});
  add_critic(worse, "refitted", {0.6, 0.2, 0.1, 0.1});
  EXPECT_PRED2(holds, summary_of(worse)[2],
               "higher in 1 of 4 shapes (1 x 64) and lower in 1 of "
               "4 shapes (64 x 1), most apart at 64 x 1");
}

TEST(Summary, AWorseFitDoesNotBlameTheCritic) {
  GradientStudyReport r = report_of({0.4, 0.4, 0.4, 0.4});
  add_critic(r, "refitted", {0.1, 0.4, 0.4, 0.4});
  EXPECT_PRED2(holds, summary_of(r)[2], "is lower in 1 of 4 shapes (1 x 64), most apart");
  EXPECT_PRED2(holds, summary_of(r)[2], "the fit is not yet a better critic");
  r = report_of({0.4, 0.4, 0.4, 0.4});
  add_critic(r, "exact", {0.1, 0.4, 0.4, 0.4});
  EXPECT_FALSE(holds(summary_of(r)[2], "the fit is not yet"));
}

TEST(Summary, OtherLambdasAreNamedBesideTheRunsOwn) {
  GradientStudyReport r = report_of({0.1, 0.3, 0.5, 0.6});
  r.lambdas = {0.0, 0.95, 1.0};
  r.agreement->push_back({{1, 64}, 1.0, "own", true, 100, about(0.7), about(0.1)});
  EXPECT_EQ(summary_lambda(r), 0.95);
  EXPECT_EQ(summary_of(r)[2],
            "The highest agreement elsewhere: at lambda 1 it is 1 x 64 "
            "(0.70 [0.65, 0.75]).");
  r.gae_lambda = 0.9999;
  EXPECT_EQ(summary_lambda(r), 1.0);
}

GradientStudyReport inflation_of(const std::vector<double>& inflation) {
  GradientStudyReport r;
  r.lambdas = {0.95};
  r.gae_lambda = 0.95;
  r.variance.emplace();
  for (std::size_t i = 0; i < inflation.size(); ++i) {
    VarianceResult v;
    v.shape = {1 << 2 * i, 64 >> 2 * i};
    v.lambda = 0.95;
    v.variance_inflation = about(inflation[i]);
    v.total = v.across = {kNone, kNone, kNone, 0};
    v.parts_agree = true;
    v.bins = {{1, 1}, {2, 3}, {4, 7}};
    const double sign = inflation[i] < 1.0 ? -1.0 : 1.0;
    v.within_by_lag = {about(-9.0 * sign), about(4.0 * sign), about(2.0 * sign)};
    r.variance->push_back(v);
  }
  return r;
}

TEST(Summary, DependenceIsGivenInIndependentSamples) {
  EXPECT_EQ(only_line(summary_of(inflation_of({0.8, 0.5, 1.0, 1.0}))),
            "Dependence at lambda 0.95: a sample of a rollout is worth "
            "1.25 to 2.00 times an independent one in 2 of 3 shapes (1 x 64 and 4 x "
            "16), since gradients along it covary negatively (at 4 x 16 most at lags "
            "2 to 3); in the other 1 the interval contains 1.");
  EXPECT_PRED2(holds, summary_of(inflation_of({2.0, 1.0, 0.8, 1.0}))[0],
               "worth 0.50 [0.49, 0.51] times an independent one in 1 of 3 shapes (1 x "
               "64), since gradients along it covary positively (at 1 x 64 most at lags 2 "
               "to 3)");
  EXPECT_PRED2(holds, only_line(summary_of(inflation_of({1.02, 0.97}))),
               "no difference between samples of a trajectory and independent ones at lambda "
               "0.95: the interval of the variance inflation contains 1 in all 2 shapes.");
  EXPECT_TRUE(summary_of(inflation_of({})).empty());
}

TEST(Summary, CentringIsNamedIfItMakesTheCosine) {
  GradientStudyReport r;
  r.lambdas = {0.95};
  r.gae_lambda = 0.95;
  r.correlation.emplace();
  CorrelationResult c;
  c.lambda = 0.95;
  c.shape = {4, 16};
  c.across.cosine.mean = about(0.4);
  c.across.uncentred = about(0.0, 0.01);
  r.correlation->push_back(c);
  EXPECT_PRED2(holds, only_line(summary_of(r)),
               "is 0.00 [-0.01, 0.01]; after subtraction of their block's mean it is 0.40 [0.35, "
               "0.45]. The subtraction makes the difference");
  (*r.correlation)[0].across.uncentred = about(0.38);
  EXPECT_TRUE(summary_of(r).empty());
  (*r.correlation)[0].across.cosine.mean = about(-0.01);
  (*r.correlation)[0].across.uncentred = about(-0.2);
  EXPECT_TRUE(summary_of(r).empty());
}

// Variances by shape, 1 x 64, 4 x 16, 16 x 4.
GradientStudyReport variance_of(const std::vector<Estimate>& totals) {
  GradientStudyReport r;
  r.lambdas = {0.95};
  r.gae_lambda = 0.95;
  r.variance.emplace();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    VarianceResult v;
    v.shape = {1 << 2 * i, 64 >> 2 * i};
    v.lambda = 0.95;
    v.variance_inflation = {kNone, kNone, kNone, 0};
    v.total = totals[i];
    v.across = about(0.0);
    v.parts_agree = true;
    r.variance->push_back(v);
  }
  return r;
}

TEST(Summary, TheLowestVarianceIsNamedWithEqualOnes) {
  EXPECT_EQ(
      only_line(summary_of(variance_of({{3, 2.5, 3.5, 9}, {1, 0.9, 1.1, 9}, {2, 1.8, 2.2, 9}}))),
      "Lowest variance of the batch gradient at lambda 0.95: 4 x 16 (1 [0.9, 1.1]); the "
      "highest, 1 x 64, is 2.3 to 3.9 times that.");
  EXPECT_PRED2(
      holds,
      only_line(summary_of(variance_of({{3, 2.5, 3.5, 9}, {1, 0.9, 1.1, 9}, {1.05, 1, 1.2, 9}}))),
      "4 x 16 (1 [0.9, 1.1]), level with 16 x 4; the highest, 1 x 64,");
  const std::string none =
      only_line(summary_of(variance_of({{1.3, 0.9, 1.6, 9}, {1, 0.8, 1.2, 9}})));
  EXPECT_PRED2(holds, none, "every interval overlaps with its own, so no shape is found");
  EXPECT_FALSE(holds(none, "times"));
  EXPECT_TRUE(summary_of(variance_of({{1, kNone, kNone, 0}, {2, kNone, kNone, 0}})).empty());
}

TEST(Summary, InconsistentPartsOfAVarianceAreWarnedOf) {
  GradientStudyReport r = variance_of({{3, 2.5, 3.5, 9}, {1, 0.9, 1.1, 9}});
  (*r.variance)[1].parts_agree = false;
  (*r.variance)[0].across = about(0.2);
  const std::vector<std::string> lines = summary_of(r);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_PRED2(holds, lines[1], "In 1 of 2 cases the part of the variance that pairs of different");
  EXPECT_PRED2(holds, lines[2],
               "Warning: the parts of the variance do not add up to the total in 1 of 2");
}

BiasResult bias_of(int steps, double norm, double low, double square_low, bool precise = true) {
  BiasResult b;
  b.num_steps = steps;
  b.lambda = 0.9;
  b.gamma = 1.0;
  b.bias_norm = {norm, low, norm + 0.1, 9};
  b.bias_squared = {norm * norm, square_low, norm * norm + 0.1, 9};
  b.relative_bias = {kNone, kNone, kNone, 0};
  b.precise = precise;
  return b;
}

TEST(Summary, TheLargestBiasIsNamedWithTheClearOnes) {
  GradientStudyReport r;
  r.bias = std::vector<BiasResult>{bias_of(1, 1.0, 0.9, 0.8), bias_of(2, 0.95, 0.85, 0.7),
                                   bias_of(64, 0.05, 0, -0.1, false)};
  EXPECT_EQ(
      summary_of(r),
      (std::vector<std::string>{
          "The largest bias |E G_B - G_T| is at T = 1, lambda 0.9, gamma 1: 1 [0.9, 1.1]; the "
          "intervals of 1 more overlap with it.",
          "The squared bias is above zero in 2 of 3 cases; in the others none was found.",
          "In 1 of 3 cases of the bias the budget ended before the wanted precision."}));
  r.bias = std::vector<BiasResult>{bias_of(1, 1.0, 0.9, 0.8)};
  r.bias->front().relative_bias = {0.5, 0.4, 0.6, 9};
  EXPECT_EQ(
      summary_of(r),
      (std::vector<std::string>{
          "The largest bias |E G_B - G_T| is at T = 1, lambda 0.9, gamma 1: 1 [0.9, 1.1], 0.5 "
          "[0.4, 0.6] times the norm of the true gradient.",
          "The squared bias is above zero in 1 of 1 cases."}));
  r.bias = std::vector<BiasResult>{bias_of(1, 0.05, 0, -1)};
  EXPECT_PRED2(holds, summary_of(r)[0], "; its interval reaches zero.");
}

TEST(Summary, ExactValuesInTheirIntervalsAreCounted) {
  GradientStudyReport r;
  r.exact.emplace();
  r.exact->cases.push_back({1,
                            1,
                            0.0,
                            1.0,
                            {{"cosine", 1.0, about(1.0)},
                             {"total", 1.0, about(2.0)},
                             {"bias_norm", 1.0, std::nullopt}}});
  EXPECT_PRED2(holds, only_line(summary_of(r)),
               "contains the exact value in 1 of 2 comparisons. About 0.1 misses are expected");
  r.exact->cases[0].quantities.erase(r.exact->cases[0].quantities.begin(),
                                     r.exact->cases[0].quantities.begin() + 2);
  EXPECT_PRED2(holds, only_line(summary_of(r)), "none was sampled beside them");
}

}  // namespace
}  // namespace broadloom
