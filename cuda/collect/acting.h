// Draws of actions on the device, with the bits of the host's actors.
#pragma once

#include <cstdint>

#include "broadloom/core/random.h"
#include "broadloom/learn/pqn_formulas.h"
#include "broadloom/math/random_formulas.h"
#include "broadloom/nn/distribution_formulas.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// Draws an action for one row of a step from outputs [outputs, stride] and a stream of its own.
// Writes the action [A] as drawn, and returns its log-probability. The device's PolicySampler.
struct PolicyActing {
  BROADLOOM_HD float act(const DeviceNetwork& network, const float* params, const float* outputs,
                         int stride, Random& random, float* drawn) const {
    if (network.is_discrete) {
      const CategoricalRow policy(outputs, network.outputs, stride);
      const int action = policy.sample(draw_uniform(random));
      drawn[0] = static_cast<float>(action);
      return policy.log_prob(action);
    }
    draw_normals(random, network.outputs, drawn, 1);
    float log_prob = 0.0f;
    for (int a = 0; a < network.outputs; ++a) {
      const GaussianDimension policy{outputs[a * stride], params[network.log_std + a]};
      drawn[a] = policy.sample(drawn[a]);
      log_prob = policy.add_log_prob(log_prob, policy.scaled(drawn[a]));
    }
    return log_prob;
  }
};

// The device's EpsilonGreedy.
struct EpsilonActing {
  double epsilon;
  float log_best, log_other;  // log-probabilities of the best action and of any other one

  static EpsilonActing make(double epsilon, int actions) {
    const EpsilonLogs logs(epsilon, actions);
    return {epsilon, logs.best, logs.other};
  }
  BROADLOOM_HD float act(const DeviceNetwork& network, const float*, const float* outputs,
                         int stride, Random& random, float* drawn) const {
    const int best = index_of_largest(outputs, network.outputs, stride);
    const std::uint32_t whether = random.bits32(), which = random.bits32();
    const int action = epsilon_greedy_action(epsilon, network.outputs, best, whether, which);
    drawn[0] = static_cast<float>(action);
    return action == best ? log_best : log_other;
  }
};

}  // namespace broadloom::cuda
