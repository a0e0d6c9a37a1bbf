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
  std::vector<Estimate> shares;  // one per threshold; count: runs * tasks, or tasks
};

// The share strictly above each threshold, with a pointwise bootstrap interval: the 95 % hold at
// each threshold alone, not jointly. No intervals if tasks have a single run.
//
// Cost: O(replicates * (runs * tasks + thresholds)); kTaskMeans adds a logarithm of the thresholds.
// kInvalidConfig if thresholds are missing, not ascending or not finite. Other errors as
// check_scores and check_bootstrap.
Result<PerformanceProfile> performance_profile(const Scores& scores,
                                               const std::vector<double>& thresholds,
                                               ProfileKind kind = ProfileKind::kRunScores,
                                               const BootstrapOptions& options = {
                                                   .replicates = kBandReplicates});

}  // namespace broadloom
