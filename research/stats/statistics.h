// Aggregates of a study's scores and the comparison of two sets of them, with intervals, as Agarwal
// et al. 2021 ("Deep reinforcement learning at the edge of the statistical precipice") propose and
// their library rliable computes. docs/statistics.md says what each number is.
#pragma once

#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

// Each with its stratified bootstrap interval, and none where a task has a single run; count is
// runs * tasks.
struct Aggregates {
  Estimate iqm;             // mean of the middle half of all scores
  Estimate median;          // of the tasks' means
  Estimate mean;            // of the tasks' means
  Estimate optimality_gap;  // 1 - mean of min(score, 1): how far below 1, the best is 0
};

// All four from the same replicates. O(replicates * runs * tasks). Errors: check_scores,
// check_bootstrap.
Result<Aggregates> aggregate(const Scores& scores, const BootstrapOptions& options = {});

// The interquartile mean by itself; not a number where there are no values, all of which must be
// finite. O(n log n).
double interquartile_mean(const std::vector<double>& values);

// How likely a run of x is better than a run of y on the same task: P(X > Y) + P(X = Y) / 2 over
// all pairs of runs (the Mann-Whitney U statistic over its largest value), averaged over the tasks.
// x and y may differ in runs, and are drawn independently; no interval where either has a single
// run. count is the number of pairs. O(replicates * (runs of both) * tasks). Errors: check_scores
// of either, check_bootstrap, kMismatch where the numbers of tasks differ.
Result<Estimate> probability_of_improvement(const Scores& x, const Scores& y,
                                            const BootstrapOptions& options = {});

}  // namespace broadloom
