// Draws of actions on the device, with the bits of the host's actors.
#pragma once

#include <cstdint>

#include "broadloom/core/random.h"
#include "broadloom/learn/pqn_formulas.h"
#include "broadloom/math/random_formulas.h"
#include "broadloom/nn/distribution_formulas.h"
#include "cuda/collect/device_rollout.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// Draws an action for one row of a step from outputs [outputs, stride] and a stream of its own.
// Writes the action [A] as drawn, and returns its log-probability. The device's PolicySampler.
struct PolicyActing {
  BROADLOOM_HD float act(const DeviceNetwork& network, const ActionChoices& choices,
                         const float* params, const float* outputs, int stride, Random& random,
                         float* drawn) const {
    float log_prob = 0.0f;
    for (int c = 0; c < choices.count; outputs += choices.options[c++] * stride) {
      const CategoricalRow policy(outputs, choices.options[c], stride);
      int action = policy.sample(draw_uniform(random));
      while (choices.M > 0 && action > 0 && outputs[action * stride] == kInvalidLogit) --action;
      drawn[c] = static_cast<float>(action);
      const float own = policy.log_prob(action);
      log_prob = c == 0 ? own : log_prob + own;
    }
    if (choices.count > 0) return log_prob;
    const int numbers = network.pairs.count;
    if (network.pairs.kind == PairKind::kBeta) {
      for (int a = 0; a < numbers; ++a) {
        drawn[a] = drawn_from_beta(random, outputs[a * stride], outputs[(numbers + a) * stride]);
      }
    } else {
      draw_normals(random, numbers, drawn, 1);
    }
    return network.uses_pairs ? pairs(network, params, outputs, stride, drawn)
                              : gaussian(network, params, outputs, stride, drawn);
  }

 private:
  // drawn: normal numbers, and then actions.
  BROADLOOM_HD static float gaussian(const DeviceNetwork& network, const float* params,
                                     const float* outputs, int stride, float* drawn) {
    float log_prob = 0.0f;
    for (int a = 0; a < network.pairs.count; ++a) {
      const GaussianDimension policy = network.dimension(params, outputs, stride, a);
      drawn[a] = policy.sample(drawn[a]);
      log_prob = policy.add_log_prob(log_prob, policy.scaled(drawn[a]));
    }
    return log_prob;
  }
  // drawn: likewise, but a Beta's are actions already.
  BROADLOOM_CALLED BROADLOOM_HD static float pairs(const DeviceNetwork& network,
                                                   const float* params, const float* outputs,
                                                   int stride, float* drawn) {
    double log_prob = 0.0;
    for (int a = 0; a < network.pairs.count; ++a) {
      const PairDimension policy = network.pair(params, outputs, stride, a);
      if (network.has_log_std) {
        drawn[a] = network.dimension(params, outputs, stride, a).sample(drawn[a]);
      } else if (policy.shape.kind != PairKind::kBeta) {
        drawn[a] = drawn_from(policy.shape, policy.first, policy.second, drawn[a]);
      }
      log_prob += policy.log_prob(drawn[a]);
    }
    return static_cast<float>(log_prob);
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
  BROADLOOM_HD float act(const DeviceNetwork& network, const ActionChoices&, const float*,
                         const float* outputs, int stride, Random& random, float* drawn) const {
    const int best = index_of_largest(outputs, network.outputs, stride);
    const std::uint32_t whether = random.bits32(), which = random.bits32();
    const int action = epsilon_greedy_action(epsilon, network.outputs, best, whether, which);
    drawn[0] = static_cast<float>(action);
    return action == best ? log_best : log_other;
  }
};

// Stores the deviations of the policy that draws a block, if they are parameters. shape:
// shape_for_rows(dimensions of the action).
struct KeepLogStdKernel {
  DeviceNetwork network;
  const float* params;
  float* log_std;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int a = block.index() * block.threads() + block.thread();
    if (a < network.pairs.count)
      log_std[a] = network.deviation.log_std(params[network.log_std + a]);
  }
};

}  // namespace broadloom::cuda
