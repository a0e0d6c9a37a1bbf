// The advantage of one transition from what comes after it, for the host's loops and for kernels.
#pragma once

#include "broadloom/core/host_device.h"

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
BROADLOOM_HD Real truncated_delta(TruncationMode mode, Real reward, Real gamma, Real value,
                                  Real final_value) {
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

struct Discounts {
  float gamma, gamma_lambda;
};

// Of a transition after which the episode goes on.
BROADLOOM_HD inline float advantage_going_on(Discounts discounts, float reward, float value,
                                             float next_value, float next_advantage) {
  return reward + discounts.gamma * next_value - value + discounts.gamma_lambda * next_advantage;
}

}  // namespace broadloom
