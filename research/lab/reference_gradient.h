// A held-out estimate of the true policy gradient, with which blocks are compared.
//
// Its samples are complete episodes, with the state distribution of stationary blocks. Their weight
// is the actual discounted return, as far as it looks past the time limit (episodes.h), minus a
// baseline V(s). The baseline changes no expectation; the better it explains the returns, the fewer
// samples are needed. Nothing is bootstrapped.
//
// The groups are independent of each other, of the baseline and of all blocks, so their own noise
// can be removed.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/instruments/gradient/factors.h"
#include "research/lab/critics.h"
#include "research/lab/episodes.h"

namespace broadloom {

struct ReferenceGradient {
  // Means over the groups' samples of weight times score. They point uphill, as 1/B sum g_i of a
  // block.
  std::vector<std::vector<double>> groups;  // [H][P]
  std::int64_t samples = 0;                 // of all groups; 0: solved exactly

  // A task's exact gradient [P], without noise.
  static ReferenceGradient exact(std::vector<double> gradient) {
    return {{std::move(gradient)}, 0};
  }
};

// score: of the loss whose gradient it is. A policy with memory goes back through whole episodes.
// baseline: must not have seen these episodes; empty: the policy's own critic. on_round: may be
// empty; called with the share that is done; an error ends the work.
Result<ReferenceGradient> measure_reference(const Policy& policy, CompleteEpisodes& episodes,
                                            double gamma, const Critic& baseline, ThreadPool& pool,
                                            const std::function<Status(double)>& on_round,
                                            Score score = Score::kLogProb);

}  // namespace broadloom
