// Statistics over the runs of one task, for reports.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/estimate.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

struct RunStatistics {
  Estimate iqm, mean, median;  // median: of the runs; that of Aggregates is over tasks
};

// With bootstrap intervals from the same replicates; none for a single run. values: finite, at
// least one. O(replicates * runs).
RunStatistics run_statistics(const std::vector<double>& values, const BootstrapOptions& options);
// The same for the scores of one task, which may be tuned (tuned_scores.h).
RunStatistics score_statistics(const Scores& scores, const BootstrapOptions& options);

// The interquartile mean of each replicate of `sample` (see draw_runs).
std::vector<double> iqm_draws(const Scores& scores, const BootstrapOptions& options,
                              std::uint32_t sample);

}  // namespace broadloom
