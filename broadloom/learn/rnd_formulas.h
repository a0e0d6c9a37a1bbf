// RND's novelty, and the loss of its predictor, of one sample: host and device.
#pragma once

#include <cmath>

#include "broadloom/core/host_device.h"

namespace broadloom {

// One output more in the sum of squared errors, which ascends over the outputs of a row.
template <class Real>
BROADLOOM_HD Real add_rnd_error(Real sum, Real predicted, Real target) {
  const Real error = predicted - target;
  return sum + error * error;
}
// What is new about the row: its intrinsic reward, before it is scaled.
template <class Real>
BROADLOOM_HD Real rnd_novelty(Real sum) {
  return sum * Real(0.5);
}

// The row's part in the sum of mean squared errors.
template <class Real>
BROADLOOM_HD double rnd_loss_of(Real novelty, int outputs) {
  return 2.0 * static_cast<double>(novelty) / outputs;
}
// How far the row's novelty is off what it was rewarded for.
template <class Real>
BROADLOOM_HD double rnd_novelty_change(Real novelty, Real rewarded) {
  return std::fabs(static_cast<double>(novelty - rewarded));
}

// The loss's derivative for an output is this weight times its error.
template <class Real>
BROADLOOM_HD Real rnd_weight(int outputs, int samples) {
  return Real(2) / (static_cast<Real>(outputs) * static_cast<Real>(samples));
}

}  // namespace broadloom
