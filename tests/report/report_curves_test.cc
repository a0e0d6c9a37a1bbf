// Names and order of a report's curves.
#include "research/report/report_curves.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

void expect_instrument(const std::string& key, const std::string& title, const std::string& unit) {
  const ReportInstrument instrument = instrument_of(key);
  EXPECT_EQ(instrument.key, key);
  EXPECT_EQ(instrument.title, title);
  EXPECT_EQ(instrument.unit, unit);
}

TEST(ReportCurves, TitlesAndUnitsAreAsDeclared) {
  expect_instrument(kReturnKey, "Training return", "");
  expect_instrument(kEvaluationKey, "Return of evaluations", "");
  expect_instrument("approx_kl", "KL, mean of (r - 1) - log r", "nats");
  expect_instrument("grad/noise_scale", "Gradient noise scale", "samples");
  expect_instrument("plasticity/dormant", "Dormant units", "%");
  expect_instrument("audit/effective_envs", "Effective share of environments", "");
}

TEST(ReportCurves, NumbersOfStrataAndLayersHaveTitles) {
  expect_instrument("success_rate/hard", "Success of training episodes, hard", "");
  expect_instrument("plasticity/critic_layer2_tau_dormant", "Units dormant at tau, critic, layer 2",
                    "%");
}

// A store may come from an older or newer program.
TEST(ReportCurves, AnUnknownNumberHasItsKeyAsTitle) {
  expect_instrument("gradient.cosine", "gradient.cosine", "");
  expect_instrument("plasticity/new", "plasticity/new", "");
}

TEST(ReportCurves, ReturnsComeFirstAndUnknownNumbersLast) {
  StudyResults study;
  study.runs.resize(2);
  for (const char* key : {"a_new_one", "grad/full_norm", "entropy", "success_rate/b",
                          "success_rate/a", kReturnKey, "z_new_one"}) {
    study.runs[0].values[key] = {1.0};
  }
  study.runs[1].values["policy_loss"] = {1.0};
  study.runs[1].evaluations = {1.0, 2.0};
  const std::vector<std::string> expected = {kReturnKey,       kEvaluationKey,   "policy_loss",
                                             "entropy",        "success_rate/a", "success_rate/b",
                                             "grad/full_norm", "a_new_one",      "z_new_one"};
  EXPECT_EQ(curve_keys({study}), expected);
}

// Blocks of 40 steps: the value at 50 was reported after 40 steps, that at 100 after 80.
TEST(ReportCurves, EvaluationsHaveTheTimeOfTheirStep) {
  ResultRun run;
  run.steps = {50, 100, 110, 120};
  run.reported = {40, 80, 80, 120};
  run.elapsed = {4, 8, 8, 12};
  run.values[kReturnKey] = {1, 2, 2, 3};
  run.evaluated_at = {60, 120};
  run.evaluations = {10, 20};
  const ReportCurve evaluations = curve_over_time({&run}, kEvaluationKey, 12, {100, 1, 1});
  EXPECT_EQ(evaluations.positions.front(), 6.0) << "not 5, the time after 50 steps in 4 seconds";
  EXPECT_EQ(evaluations.positions.back(), 12.0);
  const ReportCurve returns = curve_over_time({&run}, kReturnKey, 12, {100, 1, 1});
  EXPECT_EQ(returns.positions.front(), 4.0);
  EXPECT_EQ(returns.iqm[4].value, 2.0) << "at 8 seconds";
}

}  // namespace
}  // namespace broadloom
