// Performance profiles: for every threshold, the share of scores above it (Dolan and More 2002, in
// the form of Agarwal et al. 2021).
#pragma once

#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "research/stats/bootstrap.h"
#include "research/stats/scores.h"

namespace broadloom {

enum class ProfileKind {
  kRunScores,  // share of all runs' scores: each run counts, so the profile is smooth and unbiased
  kTaskMeans   // share of tasks whose mean score is above
};

struct PerformanceProfile {
  std::vector<double> thresholds;
  std::vector<Estimate> shares;  // as many; count: runs * tasks, or tasks
};

// The share strictly above each threshold, with the bootstrap interval of each point: 95 % hold at
// each threshold by itself, not at all of them together. No intervals where tasks have a single
// run. O(replicates * (runs * tasks + thresholds)), and for kTaskMeans a logarithm of the
// thresholds more. Errors: kInvalidConfig where thresholds are missing, not ascending or not
// finite; check_scores, check_bootstrap.
Result<PerformanceProfile> performance_profile(const Scores& scores,
                                               const std::vector<double>& thresholds,
                                               ProfileKind kind = ProfileKind::kRunScores,
                                               const BootstrapOptions& options = {
                                                   .replicates = kBandReplicates});

}  // namespace broadloom
