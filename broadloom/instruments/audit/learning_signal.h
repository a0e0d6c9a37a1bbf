// Checks of the learning signal: TD errors, advantages, value targets, ends of episodes.
#pragma once

#include <cstddef>

#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// r + gamma V(next) - V(s) of transition t of environment n, in double. V(next) is 0 if the episode
// terminated. If it was truncated, the mode says which value to use.
double td_error(const RolloutBlock& block, int t, int n, double gamma, TruncationMode mode);

struct AdvantageScale {
  // Standard deviation of the advantages over the root mean square of the value targets. Below
  // float32's rounding, normalisation amplifies mere noise. NaN if all targets are 0.
  double deviation = 0.0;
  // Largest share of one sample in the sum of squares about the mean; 1 / B if all are alike. NaN
  // if advantages do not vary.
  double dominance = 0.0;
};
AdvantageScale advantage_scale(const RolloutBlock& block);

// Standard deviation of the value targets, advantage + value.
double target_deviation(const RolloutBlock& block);

// Largest error of the block's advantages around ends of episodes, relative to the scale
// sqrt(mean(A^2 + V^2 + r^2)) of the block. A good critic leaves small advantages as differences of
// large values, and the rounding of those stays.
//
// Advantages are recomputed forwards in double, from the definition (Schulman et al. 2016, eq. 16):
//   A_t = sum over k >= 0 of (gamma lambda)^k delta_{t+k},  up to the end of the episode
// Normalised weights replace lambda^k by the share of lambda^k, ..., lambda^(n-1) in the sum of all
// n powers (GaeWeights).
//
// It checks rows before, at and after an end, and rows at the block's end. At most 256 ends count,
// evenly spread over the block. Cost: O(T) per row.
double target_error(const RolloutBlock& block, double gamma, double gae_lambda, TruncationMode mode,
                    GaeWeights weights);

struct EpisodeEnds {
  std::size_t ends = 0, truncations = 0;  // in the block; truncations also count as ends
};
EpisodeEnds count_ends(const RolloutBlock& block);

}  // namespace broadloom
