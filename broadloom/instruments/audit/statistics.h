// Inputs and outputs of the policy: normalised observations, scaled rewards, actions.
#pragma once

#include <span>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Moments of the block's observations as the policy saw them: z-scores under the statistics of
// earlier blocks. Each number is the worst of the D dimensions.
struct ObservationScale {
  double mean = 0.0;      // largest |mean|; 0 if the statistics are true
  double variance = 0.0;  // largest variance; 1 if the statistics are true
  double clipped = 0.0;   // share of all numbers that equal the clip limit
};
// scratch: [2 D].
ObservationScale observation_scale(const RolloutBlock& block, double clip,
                                   std::span<double> scratch);

// Share of the block's rewards that equal the clip limit.
double rewards_clipped(const RolloutBlock& block, double clip);

// Share of the numbers in the block's actions that lie outside a Box space's bounds. The
// environment receives the bound instead.
double actions_outside(const RolloutBlock& block, const Space& space);

}  // namespace broadloom
