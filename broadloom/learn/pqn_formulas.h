// PQN's loss of one sample, and its choice of an action, host and device.
#pragma once

#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"

namespace broadloom {

// Half the squared error of an action's value, and d (weight * loss) / d value. weight: vf_coef /
// samples.
template <class Real>
struct PqnLossOfOne {
  double loss;
  Real d_value;

  BROADLOOM_HD PqnLossOfOne(Real weight, Real value, Real target) {
    const Real error = value - target;
    loss = 0.5 * static_cast<double>(error) * static_cast<double>(error);
    d_value = weight * error;
  }
};

// Log-probabilities of the best action and of each other.
struct EpsilonLogs {
  float best, other;

  EpsilonLogs(double epsilon, int actions) {
    const double share = epsilon / actions;
    other = static_cast<float>(portable::log(share));
    best = static_cast<float>(portable::log(1.0 - epsilon + share));
  }
};

// Of a row's stream the first word says whether, the second which.
BROADLOOM_HD inline int epsilon_greedy_action(double epsilon, int actions, int best,
                                              std::uint32_t whether, std::uint32_t which) {
  if (!(whether * 0x1p-32 < epsilon)) return best;
  return static_cast<int>(which * static_cast<std::uint64_t>(actions) >> 32);
}

}  // namespace broadloom
