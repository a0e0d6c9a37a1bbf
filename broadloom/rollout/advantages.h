// Generalised advantage estimation (Schulman et al. 2016, arXiv 1506.02438, eq. 11 to 16) with
// episode ends told apart.
#pragma once

#include "broadloom/rollout/block.h"

namespace broadloom {

// What an episode cut short by the time limit contributes; the trace is cut there in every mode.
enum class TruncationMode {
  kBootstrap,      // r + gamma V(final observation) - V(s_t): correct
  kAsTermination,  // r - V(s_t): CleanRL
  kStateValue,     // r + gamma V(s_t) - V(s_t): RSL-RL, rl_games
  kZero,           // 0: RLtools
};

// TD error of a transition that met the time limit, the trace being cut there. Real: float, or
// double for exact numbers.
template <class Real>
Real truncated_delta(TruncationMode mode, Real reward, Real gamma, Real value, Real final_value) {
  switch (mode) {
    case TruncationMode::kBootstrap:
      return reward + gamma * final_value - value;
    case TruncationMode::kAsTermination:
      return reward - value;
    case TruncationMode::kStateValue:
      return reward + gamma * value - value;
    case TruncationMode::kZero:
      return 0;
  }
  return 0;
}

// block.advantages of environments [begin, end) from rewards, values, last_values, final_values and
// the end flags. Value targets are advantages + values. Cost: O(T * (end - begin)), nothing
// allocated. Disjoint ranges may run at the same time.
void compute_advantages(RolloutBlock& block, int begin, int end, double gamma, double gae_lambda,
                        TruncationMode mode);

// Likewise block.int_advantages from int_rewards times `scale`, int_values and last_int_values,
// with nothing cut: what an episode's end leads to is the next one's beginning, and goes on
// counting (Burda et al. 2018, arXiv 1810.12894, section 2.3).
void compute_intrinsic_advantages(RolloutBlock& block, int begin, int end, double gamma,
                                  double gae_lambda, double scale);

}  // namespace broadloom
