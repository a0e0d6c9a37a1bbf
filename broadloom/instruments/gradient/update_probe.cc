#include "broadloom/instruments/gradient/update_probe.h"

#include <algorithm>
#include <cmath>

#include "broadloom/instruments/gradient/noise_scale.h"
#include "broadloom/math/chained_sum.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

double squared_distance(const float* a, const float* b, std::size_t count) {
  return chained_sum(count, [=](std::size_t i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    return difference * difference;
  });
}

// mean += weight (x - mean). Returns |x - mean|^2 from before the change.
double pull_mean(const float* x, double weight, float* mean, std::size_t count) {
  return chained_sum(count, [=](std::size_t i) {
    const double difference = static_cast<double>(x[i]) - mean[i];
    mean[i] += static_cast<float>(weight * difference);
    return difference * difference;
  });
}

}  // namespace

void UpdateProbe::on_batch(const MinibatchReport& batch) {
  std::copy(batch.gradient.begin(), batch.gradient.end(), batch_gradient_.begin());
  batch_norm_ = batch.norm;
  batch_samples_ = batch.samples;
  min_cosine_ = std::numeric_limits<double>::quiet_NaN();
  min_ess_ = std::numeric_limits<double>::quiet_NaN();
}

void UpdateProbe::on_minibatch(const MinibatchReport& minibatch) {
  if (minibatch.epoch == 0 && minibatch.minibatch == 0) {
    first_norm_ = minibatch.norm;
    first_samples_ = minibatch.samples;
  }
  const double cosine = cosine_with_batch(minibatch.gradient, minibatch.norm);
  min_cosine_ = std::fmin(min_cosine_, cosine);
  min_ess_ = std::fmin(min_ess_, minibatch.ratios.ess_percent(minibatch.samples));
  add_to_epoch(minibatch, cosine);
  if (minibatch.epoch == 0) first_ = present_;
}

// Updates mean and spread together (West 1979, "Updating mean and variance estimates"). This never
// subtracts two large numbers.
void UpdateProbe::add_to_epoch(const MinibatchReport& minibatch, double cosine) {
  if (minibatch.minibatch == 0) {
    present_ = {};
    std::fill(mean_.begin(), mean_.end(), 0.0f);
  }
  const double before = present_.samples;
  present_.samples += minibatch.samples;
  const double moved = pull_mean(minibatch.gradient.data(), minibatch.samples / present_.samples,
                                 mean_.data(), mean_.size());
  present_.spread += minibatch.samples * (before / present_.samples) * moved;
  present_.cosines += cosine;
  present_.minibatches += 1;
  present_.ratios.add(minibatch.ratios);
}

// NaN if either gradient is zero.
double UpdateProbe::cosine_with_batch(std::span<const float> gradient, double norm) const {
  const double product = chained_sum(gradient.size(), [&](std::size_t i) {
    return static_cast<double>(gradient[i]) * batch_gradient_[i];
  });
  return product / (norm * batch_norm_);
}

UpdateNumbers UpdateProbe::numbers(std::span<const float> params_before,
                                   std::span<const float> params_after) const {
  const NoiseScale noise = noise_scale(first_norm_ * first_norm_, first_samples_,
                                       batch_norm_ * batch_norm_, batch_samples_);
  UpdateNumbers out;
  out.full_norm = batch_norm_;
  out.first_epoch_cosine = first_.cosines / first_.minibatches;
  out.last_epoch_cosine = present_.cosines / present_.minibatches;
  out.min_cosine = min_cosine_;
  out.drift_cosine = cosine_with_batch(mean_, std::sqrt(sum_squares(mean_.data(), mean_.size())));
  out.subsampling_variance = first_.spread / first_.samples;
  out.squared_norm = noise.squared_norm;
  out.sample_variance = noise.sample_variance;
  out.noise_scale = noise.samples();
  out.first_epoch_clipfrac = first_.ratios.clipped / first_.samples;
  out.last_epoch_clipfrac = present_.ratios.clipped / present_.samples;
  out.last_epoch_kl_k1 = present_.ratios.old_approx_kl / present_.samples;
  out.last_epoch_kl_k3 = present_.ratios.approx_kl / present_.samples;
  out.last_epoch_min_ratio = present_.ratios.min_ratio;
  out.last_epoch_max_ratio = present_.ratios.max_ratio;
  out.last_epoch_ess = present_.ratios.ess_percent(present_.samples);
  out.min_ess = min_ess_;
  out.step_norm =
      std::sqrt(squared_distance(params_after.data(), params_before.data(), params_after.size()));
  return out;
}

}  // namespace broadloom
