// A held-out estimate of the true policy gradient, which blocks are compared with.
//
// Its samples are complete episodes, with the distribution of states that stationary blocks have,
// and weighed by what really followed them: the discounted return, as far as it looks past the time
// limit (episodes.h), minus a baseline V(s), which changes no expectation: the better V explains
// the returns, the fewer samples it takes. Nothing is bootstrapped. Its groups are independent of
// each other, of the baseline and of all blocks, so that its own noise can be taken out.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/critics.h"
#include "research/lab/episodes.h"

namespace broadloom {

struct ReferenceGradient {
  // Means of the groups' samples: of weight times score, so uphill, as 1/B sum g_i of a block.
  std::vector<std::vector<double>> groups;  // [H][P]
  std::int64_t samples = 0;                 // of all groups; 0: solved

  // A task's solution, without noise. gradient: [P].
  static ReferenceGradient exact(std::vector<double> gradient) {
    return {{std::move(gradient)}, 0};
  }
};

// baseline: must not know these episodes; empty: the policy's own critic. on_round: may be empty;
// told the share that is done.
Result<ReferenceGradient> measure_reference(const Policy& policy, CompleteEpisodes& episodes,
                                            double gamma, const Critic& baseline, ThreadPool& pool,
                                            const std::function<void(double)>& on_round);

}  // namespace broadloom
