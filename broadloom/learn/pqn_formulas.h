// PQN's loss of one sample and its choice of an action, for CPU and GPU.
#pragma once

#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"

namespace broadloom {

// Half the squared error of an action's value, and d (weight * loss) / d value. weight: vf_coef /
// samples.
template <class Real>
struct SamplePqnLoss {
  double loss;
  Real d_value;

  BROADLOOM_HD SamplePqnLoss(Real weight, Real value, Real target) {
    const Real error = value - target;
    loss = 0.5 * static_cast<double>(error) * static_cast<double>(error);
    d_value = weight * error;
  }
};

// Log-probabilities of the best action and of each other action.
struct EpsilonLogs {
  float best, other;

  EpsilonLogs(double epsilon, int actions) {
    const double share = epsilon / actions;
    other = static_cast<float>(portable::log(share));
    best = static_cast<float>(portable::log(1.0 - epsilon + share));
  }
};

// The first random word decides whether to explore, the second which action to take.
BROADLOOM_HD inline int epsilon_greedy_action(double epsilon, int actions, int best,
                                              std::uint32_t explore_word,
                                              std::uint32_t action_word) {
  if (!(explore_word * 0x1p-32 < epsilon)) return best;
  return static_cast<int>(action_word * static_cast<std::uint64_t>(actions) >> 32);
}

}  // namespace broadloom
