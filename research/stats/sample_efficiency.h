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

// The learning curves of a study; as with Scores, every task has as many runs.
struct RunCurves {
  int runs = 0;
  int tasks = 0;
  std::vector<Curve> curves;  // [runs, tasks]
};

// kInvalidConfig where there is no run or no task, kMismatch where `curves` is not [runs, tasks] or
// a curve has not as many steps as returns, kCorrupt where one is empty or its steps do not
// ascend, kNumeric where a number is not finite.
Status check_curves(const RunCurves& curves);

// `points` steps, evenly spaced, from the latest of the first steps to the earliest of the last:
// every run has a value at each. kInvalidConfig for fewer than two points, kMismatch where the runs
// have no steps in common, other errors as check_curves.
Result<std::vector<double>> common_steps(const RunCurves& curves, int points);

// The scores of all runs at a step, linearly interpolated between the points on either side.
// kMismatch where a run does not reach that far: nothing is extrapolated. Errors as check_curves.
Result<Scores> scores_at(const RunCurves& curves, double step);

// The area under each run's curve between two steps by the trapezoid rule, over to - from, the ends
// interpolated: the mean return on the way, in units of the return. Errors as scores_at,
// kInvalidConfig where `from` is not below `to`. aggregate() gives intervals for them.
Result<Scores> areas_under(const RunCurves& curves, double from, double to);

// Returns replaced by normalised_score, task m by specs[m]; kMismatch where their numbers differ.
Result<RunCurves> normalised(const RunCurves& curves, const std::vector<EnvSpec>& specs);

struct EfficiencyCurve {
  std::vector<double> steps;
  std::vector<Estimate> iqm;  // as many; count: runs * tasks
};

// The interquartile mean of the scores at each of `steps`, with its bootstrap interval. A replicate
// draws whole runs, the same at every step. No intervals where tasks have a single run. O(steps *
// replicates * runs * tasks). Errors as scores_at and check_bootstrap; kInvalidConfig for no steps.
Result<EfficiencyCurve> sample_efficiency(const RunCurves& curves, const std::vector<double>& steps,
                                          const BootstrapOptions& options = {
                                              .replicates = kBandReplicates});

}  // namespace broadloom
