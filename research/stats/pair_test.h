// Whether two samples differ significantly: the common criterion of reports and advice.
#pragma once

#include "broadloom/core/estimate.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

// Whether this many runs can give a significant result at all.
//
// If both sides are alike, all runs of one may exceed all runs of the other on every task. The
// chance of that is 2 / C(runs + others, runs)^tasks. This is the pair test's smallest p-value. If
// it exceeds 5 %, no result is significant, although a bootstrap of so few runs may give an
// interval without width.
bool can_tell(int runs, int others, int tasks);

// The test of Wilcoxon (1945) and of Mann and Whitney (1947), by permutations within tasks. Both
// samples must pass check_scores, with the same number of tasks. options.threads is not used.
//
// The runs of each task are dealt to the two sides at random. The p-value is the chance that x's
// probability of improvement over y lies at least as far from a half. Ties have the mean of their
// ranks.
//
// The result is exact if counting takes few steps, as for 20 runs against 20 on three tasks.
// Otherwise it is (as far + 1) / (replicates + 1) over random deals, and never zero.
double pair_test(const Scores& x, const Scores& y, const BootstrapOptions& options);

// 1: x is better, -1: y is better, 0: no significant difference. `probability` is x's probability
// of improvement over y.
//
// Its interval must exclude a half, and the pair test must be significant at 5 %. The interval
// alone excludes a half too often with few runs. So at most 5 of 100 pairs of equal sides are
// called different.
//
// If a side is tuned, the result must also hold for every candidate that is like that side's best
// one: a result that depends on the choice of a learning rate is no difference.
int better_of(const Estimate& probability, const Scores& x, const Scores& y,
              const BootstrapOptions& options);
// Whether the result is 0 for that last reason alone.
bool hangs_on_choice(const Estimate& probability, const Scores& x, const Scores& y,
                     const BootstrapOptions& options);

}  // namespace broadloom
