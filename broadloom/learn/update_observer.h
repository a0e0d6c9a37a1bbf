// An update watched from inside, whichever algorithm's it is.
#pragma once

#include <span>

#include "broadloom/learn/ratio_sums.h"

namespace broadloom {

// The gradient of one minibatch, as an observer sees it. Views hold during the call only.
struct MinibatchReport {
  int epoch = 0;      // from 0
  int minibatch = 0;  // of the epoch, from 0
  int samples = 0;
  std::span<const float> gradient;  // [P] of the mean loss over the samples, before clipping
  double norm = 0.0;                // of the gradient
  double clipped_norm = 0.0;  // of it and what is learnt beside it: what max_grad_norm is held to
  double entropy = 0.0;       // of the policy, mean over the samples
  RatioSums ratios = RatioSums::undefined();  // of the samples, where the algorithm has any
};

// Watches an update from inside. It cannot change anything, and must allocate nothing.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  // Before the first step: all samples of the block as if they were one minibatch, at the
  // parameters that collected it. What is normalised by minibatch is normalised over all of them.
  virtual void on_batch(const MinibatchReport& batch) = 0;
  // Every minibatch before its step, in order; only those whose loss and gradient are finite.
  virtual void on_minibatch(const MinibatchReport& minibatch) = 0;
};

}  // namespace broadloom
