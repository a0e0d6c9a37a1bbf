// Gradients of minibatches and epochs within one update.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/learn/update_observer.h"

namespace broadloom {

// G is the gradient over the whole block at the parameters that collected it. G_m is the gradient
// of minibatch m at its current parameters; only the first minibatch has those of G. Both are of
// the whole loss, before clipping. With norm_adv=minibatch, each minibatch normalises its own
// advantages, so G is not exactly the mean of the G_m even at fixed parameters.
struct UpdateNumbers {
  double full_norm = 0.0;  // |G|
  // cos(G_m, G): means over the minibatches of an epoch, and the minimum over all.
  double first_epoch_cosine = 0.0;
  double last_epoch_cosine = 0.0;
  double min_cosine = std::numeric_limits<double>::quiet_NaN();
  // cos(mean of the last epoch's G_m, G): how far the direction has turned, without the noise of
  // single minibatches.
  double drift_cosine = 0.0;
  // Mean over the first epoch's minibatches of |G_m - their mean|^2, weighted by samples. At fixed
  // parameters, its expectation is Tr S (1 / M - 1 / B), with S the sample covariance of the
  // block's per-sample gradients. Minibatches of M are drawn without replacement from B.
  double subsampling_variance = 0.0;
  // Estimates from |G_0|^2 and |G|^2: see noise_scale.h.
  double squared_norm = 0.0;
  double sample_variance = 0.0;
  double noise_scale = 0.0;
  // Ratios r of an epoch's samples, each at its minibatch's parameters.
  double first_epoch_clipfrac = 0.0;
  double last_epoch_clipfrac = 0.0;
  double last_epoch_kl_k1 = 0.0;  // mean of -log r
  double last_epoch_kl_k3 = 0.0;  // mean of (r - 1) - log r
  double last_epoch_min_ratio = 0.0;
  double last_epoch_max_ratio = 0.0;
  double last_epoch_ess = 0.0;  // RatioSums::ess_percent
  double min_ess = 0.0;         // minimum over all minibatches
  double step_norm = 0.0;       // |parameters after - before|

  template <class Visitor>
  void visit(Visitor&& v) const;
};

// Observes one update after another. Cost per minibatch: 2 P additions and multiplications on one
// thread, in addition to Algorithm::set_observer().
class UpdateProbe final : public UpdateObserver {
 public:
  explicit UpdateProbe(std::size_t parameters) : batch_gradient_(parameters), mean_(parameters) {}
  static std::size_t bytes(std::size_t parameters) { return 2 * parameters * sizeof(float); }

  void on_batch(const MinibatchReport& batch) override;
  void on_minibatch(const MinibatchReport& minibatch) override;

  // Numbers of the last update; params_before, params_after: [P].
  UpdateNumbers numbers(std::span<const float> params_before,
                        std::span<const float> params_after) const;

 private:
  struct Epoch {
    int minibatches = 0;
    double samples = 0.0;
    double cosines = 0.0;  // sum over minibatches
    double spread = 0.0;   // sum over minibatches of samples |G_m - mean of those before|^2
    RatioSums ratios;
  };

  void add_to_epoch(const MinibatchReport& minibatch, double cosine);
  double cosine_with_batch(std::span<const float> gradient, double norm) const;

  std::vector<float> batch_gradient_;  // [P] G
  std::vector<float> mean_;            // [P] mean of the present epoch's minibatches
  Epoch first_, present_;
  double batch_norm_ = 0.0;
  double batch_samples_ = 0.0;
  double first_norm_ = 0.0;  // norm of the first minibatch's gradient
  double first_samples_ = 0.0;
  double min_cosine_ = 0.0;
  double min_ess_ = 0.0;
};

template <class Visitor>
void UpdateNumbers::visit(Visitor&& v) const {
  v(NumberInfo{"grad/full_norm", "Norm of the block's gradient"}, full_norm);
  v(NumberInfo{"grad/first_epoch_cosine", "Cosine of minibatch and block, first epoch"},
    first_epoch_cosine);
  v(NumberInfo{"grad/last_epoch_cosine", "Cosine of minibatch and block, last epoch"},
    last_epoch_cosine);
  v(NumberInfo{"grad/min_cosine", "Least cosine of minibatch and block"}, min_cosine);
  v(NumberInfo{"grad/drift_cosine", "Cosine of last epoch's mean and block"}, drift_cosine);
  v(NumberInfo{"grad/subsampling_variance", "Gradient variance of minibatches, first epoch"},
    subsampling_variance);
  v(NumberInfo{"grad/squared_norm", "Squared norm of the gradient without noise"}, squared_norm);
  v(NumberInfo{"grad/sample_variance", "Gradient variance of single samples"}, sample_variance);
  v(NumberInfo{"grad/noise_scale", "Gradient noise scale", "samples"}, noise_scale);
  v(NumberInfo{"grad/first_epoch_clipfrac", "Clipped share of samples, first epoch"},
    first_epoch_clipfrac);
  v(NumberInfo{"grad/last_epoch_clipfrac", "Clipped share of samples, last epoch"},
    last_epoch_clipfrac);
  v(NumberInfo{"grad/last_epoch_kl_k1", "KL of the last epoch, mean of -log r", "nats"},
    last_epoch_kl_k1);
  v(NumberInfo{"grad/last_epoch_kl_k3", "KL of the last epoch, mean of (r - 1) - log r", "nats"},
    last_epoch_kl_k3);
  v(NumberInfo{"grad/last_epoch_min_ratio", "Smallest policy ratio, last epoch"},
    last_epoch_min_ratio);
  v(NumberInfo{"grad/last_epoch_max_ratio", "Largest policy ratio, last epoch"},
    last_epoch_max_ratio);
  v(NumberInfo{"grad/last_epoch_ess", "Effective sample size of ratios, last epoch", "%"},
    last_epoch_ess);
  v(NumberInfo{"grad/min_ess", "Least effective sample size of a minibatch", "%"}, min_ess);
  v(NumberInfo{"grad/step_norm", "Length of the update"}, step_norm);
}

}  // namespace broadloom
