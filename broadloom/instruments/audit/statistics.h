// What the policy saw and did: normalised observations, scaled rewards, actions.
#pragma once

#include <span>

#include "broadloom/env/spec.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Of the block's observations as the policy saw them, which are z-scores under the statistics of
// the blocks before. The worst of the D dimensions each.
struct ObservationScale {
  double mean = 0.0;      // largest |mean|; 0 where the statistics are true
  double variance = 0.0;  // largest variance; 1 where they are
  double clipped = 0.0;   // share of all numbers that stand at the clip
};
// scratch: [2 D].
ObservationScale observation_scale(const RolloutBlock& block, double clip,
                                   std::span<double> scratch);

// Share of the block's rewards that stand at the clip.
double rewards_clipped(const RolloutBlock& block, double clip);

// Share of the numbers in the block's actions that lie outside a Box space's bounds, where the
// environment gets the bound instead.
double actions_outside(const RolloutBlock& block, const Space& space);

}  // namespace broadloom
