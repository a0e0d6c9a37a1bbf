// Generalised advantage estimation (Schulman et al. 2016, arXiv 1506.02438, eq. 11 to 16) with
// terminations and truncations distinguished.
#pragma once

#include "broadloom/rollout/advantage_formula.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// Computes block.advantages of environments [begin, end) from rewards, values, last_values,
// final_values and the end flags. Value targets are advantages + values. Cost: O(T * (end -
// begin)), without allocation. Disjoint ranges may run at the same time.
void compute_advantages(RolloutBlock& block, int begin, int end, double gamma, double gae_lambda,
                        TruncationMode mode, GaeWeights weights = GaeWeights::kGeometric);

// Computes block.int_advantages from int_rewards times `scale`, int_values and last_int_values. No
// episode end cuts the trace: the first state of the next episode counts as the next state (Burda
// et al. 2018, arXiv 1810.12894, section 2.3).
void compute_intrinsic_advantages(RolloutBlock& block, int begin, int end, double gamma,
                                  double gae_lambda, double scale);

}  // namespace broadloom
