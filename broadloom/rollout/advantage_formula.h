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

// GAE is a mean of the k-step advantages A^(k), k = 1 to n, with these weights. The n TD errors of
// a transition end where the trace is cut: at the block's end, a termination or a truncation.
enum class GaeWeights {
  kGeometric,   // (1 - lambda) lambda^(k-1); the last, k = n, has all of the rest: lambda^(n-1)
  kNormalised,  // (1 - lambda) lambda^(k-1) / (1 - lambda^n), or 1 / n with lambda = 1
};

struct Discounts {
  float gamma, gamma_lambda;
  float lambda;
  GaeWeights weights;

  static Discounts make(double gamma, double lambda, GaeWeights weights = GaeWeights::kGeometric) {
    return {static_cast<float>(gamma), static_cast<float>(gamma * lambda),
            static_cast<float>(lambda), weights};
  }
};

// gamma_lambda of a transition with normalised weights. "An Approximate Ascent Approach To Prove
// Convergence of PPO" (arXiv 2602.03386) proposes to correct the weight of the longest advantage.
// The formula is derived here from the paper's description, without its text. With c_0 = 0 and
// c_n = 1 + lambda c_(n-1), the sum of lambda^0 to lambda^(n-1), no digits cancel:
//   A_t = delta_t + gamma (lambda c_(n-1) / c_n) A_(t+1)
//
// sum: c_(n-1) of the next transition, 0 at the block's end. Becomes c_n.
BROADLOOM_HD inline float normalised_trace(Discounts discounts, float& sum) {
  const float later = discounts.lambda * sum;
  sum = 1.0f + later;
  return discounts.gamma * (later / sum);
}

// GAE of a transition that does not end its episode.
BROADLOOM_HD inline float continuing_advantage(Discounts discounts, float reward, float value,
                                               float next_value, float next_advantage) {
  return reward + discounts.gamma * next_value - value + discounts.gamma_lambda * next_advantage;
}

}  // namespace broadloom
