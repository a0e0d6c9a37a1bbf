// PPO's loss of one sample, host and device, to the bit of ppo_loss.cc's vectors; the loss itself
// is said in ppo_loss.h.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"
#include "broadloom/math/element_functions.h"

namespace broadloom {

// What the policy learns from of two kinds of reward, before it is normalised: the advantages, each
// times its coefficient.
BROADLOOM_HD inline float learnt_advantage(double ext_coef, double int_coef, float advantage,
                                           float int_advantage) {
  return static_cast<float>(ext_coef) * advantage + static_cast<float>(int_coef) * int_advantage;
}

struct PolicyLossOfOne {
  float log_ratio, ratio, loss, d_log_prob;

  // share: 1 / samples of the minibatch. low, high: 1 -+ clip_coef.
  BROADLOOM_HD PolicyLossOfOne(float low, float high, float share, float log_prob,
                               float old_log_prob, float advantage) {
    log_ratio = log_prob - old_log_prob;
    ratio = element::exp(log_ratio);
    const float unclipped = -(advantage * ratio);
    const float clipped = -(advantage * element::smaller(element::larger(ratio, low), high));
    const bool is_clipped = unclipped < clipped;
    loss = is_clipped ? clipped : unclipped;
    d_log_prob = is_clipped ? 0.0f : share * unclipped;
  }
};

struct ValueLossOfOne {
  float loss, d_value;

  // clip: most change of the value; infinite where it is not clipped. weight: vf_coef / samples.
  BROADLOOM_HD ValueLossOfOne(float clip, float weight, float value, float old_value,
                              float target) {
    const float error = value - target;
    const float change = value - old_value;
    const float kept_change = element::smaller(element::larger(change, -clip), clip);
    const float clipped_error = old_value + kept_change - target;
    const bool is_clipped =
        error * error < clipped_error * clipped_error && std::fabs(change) > clip;
    const float counted = is_clipped ? clipped_error : error;
    loss = 0.5f * (counted * counted);
    d_value = is_clipped ? 0.0f : weight * error;
  }
};

}  // namespace broadloom
