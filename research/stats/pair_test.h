// Whether two samples can be told apart: the one criterion of reports and of advice.
#pragma once

#include "broadloom/core/estimate.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

// Whether so many runs can be told apart at all: if both sides were alike, all runs of one would be
// above all of the other, on every task, with the chance 2 / C(runs + others, runs)^tasks. Where
// even that is more likely than 5 %, no result can be called one (the pair test's smallest chance),
// although a bootstrap of so few runs gives an interval without width.
bool can_tell(int runs, int others, int tasks);

// The test of Wilcoxon (1945) and of Mann and Whitney (1947) by permutations within tasks: how
// likely the probability of improvement of x over y lies as far from a half where the runs of each
// task are dealt to the two sides at random. Ties have the mean of their ranks. Exact where
// counting the ways takes few steps, as for 20 runs against 20 on three tasks; else (as far + 1) /
// (replicates + 1) of so many deals. Never zero. options.threads is not used. Both must pass
// check_scores and have as many tasks.
double pair_test(const Scores& x, const Scores& y, const BootstrapOptions& options);

// 1: x is better, -1: y is, 0: they cannot be told apart. `probability` is the one of improvement
// of x over y. Its interval has to leave out a half, which that of few runs does too often, and the
// pair test has to stand at 5 %: so of sides that are alike 5 of 100 pairs are told apart at most.
int better_of(const Estimate& probability, const Scores& x, const Scores& y,
              const BootstrapOptions& options);

}  // namespace broadloom
