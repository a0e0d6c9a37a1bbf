// RND's novelty and predictor loss of one sample, for CPU and GPU.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"

namespace broadloom {

// Adds one output to a row's sum of squared errors. Outputs are added in ascending order.
template <class Real>
BROADLOOM_HD Real add_rnd_error(Real sum, Real predicted, Real target) {
  const Real error = predicted - target;
  return sum + error * error;
}
// The row's intrinsic reward before scaling.
template <class Real>
BROADLOOM_HD Real rnd_novelty(Real sum) {
  return sum * Real(0.5);
}

// The row's mean squared error over the outputs.
template <class Real>
BROADLOOM_HD double rnd_sample_loss(Real novelty, int outputs) {
  return 2.0 * static_cast<double>(novelty) / outputs;
}
// Absolute difference from the novelty that was rewarded.
template <class Real>
BROADLOOM_HD double rnd_novelty_change(Real novelty, Real rewarded) {
  return std::fabs(static_cast<double>(novelty - rewarded));
}

// d loss / d output is this weight times the output's error.
template <class Real>
BROADLOOM_HD Real rnd_weight(int outputs, int samples) {
  return Real(2) / (static_cast<Real>(outputs) * static_cast<Real>(samples));
}

}  // namespace broadloom
