// Aggregates of a study's scores, and the comparison of two sets of scores, with intervals. As
// proposed by Agarwal et al. 2021 ("Deep reinforcement learning at the edge of the statistical
// precipice") and computed by their library rliable. docs/statistics.md defines each number.
#pragma once

#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

// Each with its stratified bootstrap interval; none if a task has a single run. count is runs *
// tasks.
struct Aggregates {
  Estimate iqm;             // mean of the middle half of all scores
  Estimate median;          // of the tasks' means
  Estimate mean;            // of the tasks' means
  Estimate optimality_gap;  // 1 - mean of min(score, 1): how far below 1; the best is 0
};

// All four from the same replicates. O(replicates * runs * tasks). Errors: check_scores,
// check_bootstrap.
Result<Aggregates> aggregate(const Scores& scores, const BootstrapOptions& options = {});

// The interquartile mean alone; NaN if there are no values. All values must be finite. O(n log n).
double interquartile_mean(const std::vector<double>& values);

// The probability that a run of x is better than a run of y on the same task, averaged over the
// tasks. It is P(X > Y) + P(X = Y) / 2 over all pairs of runs. This is the Mann-Whitney U statistic
// over its largest value. count is the number of pairs.
//
// x and y may differ in runs, and are drawn independently. No interval if either has a single run.
// O(replicates * (runs of both) * tasks). Errors: check_scores of either, check_bootstrap,
// kMismatch if the numbers of tasks differ.
Result<Estimate> probability_of_improvement(const Scores& x, const Scores& y,
                                            const BootstrapOptions& options = {});

}  // namespace broadloom
