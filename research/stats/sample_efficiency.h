// How fast runs learn: the interquartile mean along the steps, and the area under the curve.
#pragma once

#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/record/run_curve.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

// The learning curves of a study. As with Scores, every task has the same number of runs.
struct RunCurves {
  int runs = 0;
  int tasks = 0;
  std::vector<Curve> curves;  // [runs, tasks]
};

// kInvalidConfig if there is no run or no task. kMismatch if `curves` is not [runs, tasks], or if a
// curve's steps and returns differ in number. kCorrupt if a curve is empty or its steps do not
// ascend. kNumeric if a number is not finite.
Status check_curves(const RunCurves& curves);

// `points` evenly spaced steps, from the latest first step to the earliest last step: every run has
// a value at each. kInvalidConfig for fewer than two points. kMismatch if the runs have no steps in
// common. Other errors as check_curves.
Result<std::vector<double>> common_steps(const RunCurves& curves, int points);

// The scores of all runs at a step, linearly interpolated between the points on either side.
// kMismatch if a run does not reach that far: nothing is extrapolated. Other errors as
// check_curves.
Result<Scores> scores_at(const RunCurves& curves, double step);

// The area under each run's curve between two steps by the trapezoid rule, divided by last - first.
// The ends are interpolated. It is the mean return on the way, in units of the return. aggregate()
// gives intervals for the areas. kInvalidConfig if `first` is not below `last`. Other errors as
// scores_at.
Result<Scores> areas_under(const RunCurves& curves, double first, double last);

// Replaces returns by normalised_score; task m uses specs[m]. kMismatch if their numbers differ.
Result<RunCurves> normalised(const RunCurves& curves, const std::vector<EnvSpec>& specs);

struct EfficiencyCurve {
  std::vector<double> steps;
  std::vector<Estimate> iqm;  // one per step; count: runs * tasks
};

// The interquartile mean of the scores at each of `steps`, with its bootstrap interval. A replicate
// draws whole runs, the same at every step. No intervals if tasks have a single run.
//
// O(steps * replicates * runs * tasks). kInvalidConfig for no steps. Other errors as scores_at and
// check_bootstrap.
Result<EfficiencyCurve> sample_efficiency(const RunCurves& curves, const std::vector<double>& steps,
                                          const BootstrapOptions& options = {
                                              .replicates = kBandReplicates});

}  // namespace broadloom
