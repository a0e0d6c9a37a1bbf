// Observes one update: its first minibatch, and how far its last epoch moved the policy.
#pragma once

#include <limits>

#include "broadloom/learn/update_observer.h"

namespace broadloom {

class UpdateWatch final : public UpdateObserver {
 public:
  void on_batch(const MinibatchReport& batch) override {
    entropy_ = batch.entropy;
    first_ = true;
  }
  void on_minibatch(const MinibatchReport& minibatch) override {
    const RatioSums& ratios = minibatch.ratios;
    is_only_ = first_;
    if (first_) {
      ratio_error_ = ratios.max_ratio_error;
      least_ess_ = 100.0;
    }
    if (minibatch.minibatch == 0) {
      last_ = {};
      samples_ = 0.0;
    }
    first_ = false;
    last_.add(ratios);
    samples_ += minibatch.samples;
    const double ess = ratios.ess_percent(minibatch.samples);
    if (!(ess >= least_ess_)) least_ess_ = ess;  // NaN stays
  }

  // Mean over the block, before the first step; NaN if the algorithm gives none.
  double entropy() const { return entropy_; }
  double ratio_error() const { return ratio_error_; }  // max |r - 1| of the first minibatch
  // The next two average over the last epoch that was run. Each sample counts at its minibatch's
  // parameters. All three are NaN if the update had one minibatch: its ratios are 1, and none shows
  // where its step has moved the policy.
  double last_kl() const { return measured(last_.approx_kl / samples_); }  // k3
  double last_clipfrac() const { return measured(last_.clipped / samples_); }
  double least_ess() const { return measured(least_ess_); }  // over all minibatches, in per cent

 private:
  double measured(double number) const {
    return is_only_ ? std::numeric_limits<double>::quiet_NaN() : number;
  }

  RatioSums last_;
  double samples_ = 1.0, entropy_ = 0.0, ratio_error_ = 0.0, least_ess_ = 100.0;
  bool first_ = false, is_only_ = false;
};

}  // namespace broadloom
