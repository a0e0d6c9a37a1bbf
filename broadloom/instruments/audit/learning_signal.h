// What the update learns from: TD errors, advantages, value targets, ends of episodes.
#pragma once

#include <cstddef>

#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// r + gamma V(next) - V(s) of transition t of environment n, with what the mode takes for V(next)
// where the episode was cut off, and 0 where it ended. In double.
double td_error(const RolloutBlock& block, int t, int n, double gamma, TruncationMode mode);

struct AdvantageScale {
  // Standard deviation of the advantages over the root mean square of the value targets: below the
  // rounding of float32 it is noise that normalisation blows up. Not a number where targets are 0.
  double deviation = 0.0;
  // The largest share that one sample has of the sum of squares about the mean; 1 / B where all
  // are alike. Not a number where advantages do not vary.
  double dominance = 0.0;
};
AdvantageScale advantage_scale(const RolloutBlock& block);

// Root mean square of what value targets, advantage + value, are off their mean.
double target_deviation(const RolloutBlock& block);

// The largest error of the block's advantages around ends of episodes, over the root mean square of
// what they are made of (root of the block's mean of A^2 + V^2 + r^2: a good critic leaves small
// advantages as differences of large values, and with them the rounding of these). Advantages are
// worked out anew, forwards and in double, from the definition
//   A_t = sum over k >= 0 of (gamma lambda)^k delta_{t+k},  up to the end of the episode
// (Schulman et al. 2016, eq. 16), for the rows before, at and after an end, and those that the
// block cuts off; of at most 256 ends, evenly over the block. Cost: O(T) a row.
double target_error(const RolloutBlock& block, double gamma, double gae_lambda,
                    TruncationMode mode);

struct EpisodeEnds {
  std::size_t ends = 0, truncations = 0;  // of the block; truncations are ends, too
};
EpisodeEnds count_ends(const RolloutBlock& block);

}  // namespace broadloom
