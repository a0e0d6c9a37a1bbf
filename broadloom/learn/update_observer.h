// Observes the minibatches of an update, for any algorithm.
#pragma once

#include <limits>
#include <span>

#include "broadloom/learn/ratio_sums.h"

namespace broadloom {

// The gradient of one minibatch. Views are valid during the call only.
struct MinibatchReport {
  int epoch = 0;      // from 0
  int minibatch = 0;  // of the epoch, from 0
  int samples = 0;
  std::span<const float> gradient;  // [P] of the mean loss over the samples, before clipping
  double norm = 0.0;                // of the gradient
  double clipped_norm = 0.0;  // joint norm with the companion's gradient, which max_grad_norm clips
  // The policy's, mean over the samples; NaN if the algorithm has none.
  double entropy = std::numeric_limits<double>::quiet_NaN();
  RatioSums ratios = RatioSums::undefined();  // of the samples, if the algorithm has ratios
};

// Cannot change the update, and must not allocate.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  // Called before the first step, with all samples of the block as one minibatch, at the parameters
  // that collected it. Normalisation by minibatch is over all of them.
  virtual void on_batch(const MinibatchReport& batch) = 0;
  // Called for every minibatch before its step, in order, if its loss and gradient are finite.
  virtual void on_minibatch(const MinibatchReport& minibatch) = 0;
};

}  // namespace broadloom
