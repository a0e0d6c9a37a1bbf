// The advantage of one transition, shared by CPU loops and CUDA kernels.
#pragma once

#include "broadloom/core/host_device.h"

namespace broadloom {

// The TD error of a transition that the time limit truncates. Every mode cuts the trace there.
enum class TruncationMode {
  kBootstrap,      // r + gamma V(final observation) - V(s_t): correct
  kAsTermination,  // r - V(s_t): CleanRL
  kStateValue,     // r + gamma V(s_t) - V(s_t): RSL-RL, rl_games
  kZero,           // 0: RLtools
};

// TD error of a transition that the time limit truncates. Real: float, or double for exact numbers.
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

// GAE of a transition that does not end its episode.
BROADLOOM_HD inline float continuing_advantage(Discounts discounts, float reward, float value,
                                               float next_value, float next_advantage) {
  return reward + discounts.gamma * next_value - value + discounts.gamma_lambda * next_advantage;
}

}  // namespace broadloom
