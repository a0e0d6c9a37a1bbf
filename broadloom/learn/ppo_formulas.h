// PPO's loss of one sample for CPU and GPU, with the bits of the vector code in ppo_loss.cc.
// ppo_loss.h states the loss.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"
#include "broadloom/math/element_functions.h"

namespace broadloom {

// The weighted sum of extrinsic and intrinsic advantage, before normalisation.
BROADLOOM_HD inline float learnt_advantage(double ext_coef, double int_coef, float advantage,
                                           float int_advantage) {
  return static_cast<float>(ext_coef) * advantage + static_cast<float>(int_coef) * int_advantage;
}

struct SamplePolicyLoss {
  float log_ratio, ratio, loss, d_log_prob;

  // share: 1 / samples of the minibatch. low, high: 1 -+ clip_coef.
  BROADLOOM_HD SamplePolicyLoss(float low, float high, float share, float log_prob,
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

struct SampleValueLoss {
  float loss, d_value;

  // clip: largest change of the value; infinity: no clipping. alone: the clipped value's loss
  // counts even if it is the smaller one. weight: vf_coef / samples.
  BROADLOOM_HD SampleValueLoss(float clip, bool alone, float weight, float value, float old_value,
                               float target) {
    const float error = value - target;
    const float change = value - old_value;
    const float kept_change = element::smaller(element::larger(change, -clip), clip);
    const float clipped_error = old_value + kept_change - target;
    const bool counts_clipped = alone || error * error < clipped_error * clipped_error;
    const bool is_clipped = counts_clipped && std::fabs(change) > clip;
    const float counted = is_clipped ? clipped_error : error;
    loss = 0.5f * (counted * counted);
    d_value = is_clipped ? 0.0f : weight * error;
  }
};

inline constexpr double kMeanBound = 1.1;

// The derivative of weight * max(0, |mean| - kMeanBound)^2. A mean that is NaN stays NaN.
template <class Real>
BROADLOOM_HD Real bounds_slope(Real weight, Real mean) {
  constexpr Real kBound = static_cast<Real>(kMeanBound);
  const Real kept = mean < -kBound ? -kBound : kBound < mean ? kBound : mean;
  return Real(2) * weight * (mean - kept);
}

}  // namespace broadloom
