// Sums of policy ratios, which measure how far the policy is from the one that collected.
#pragma once

#include <limits>

#include "broadloom/core/host_device.h"

namespace broadloom {

// r is a sample's ratio pi(a|s) / pi_old(a|s); pi_old collected it. All are sums over samples
// except the last three; divide by the number of samples for means.
struct RatioSums {
  double old_approx_kl = 0.0;    // k1: -log r (Schulman 2020, "Approximating KL divergence")
  double approx_kl = 0.0;        // k3: (r - 1) - log r
  double clipped = 0.0;          // samples with |r - 1| > clip_coef
  double ratios = 0.0;           // r
  double squared_ratios = 0.0;   // r^2
  double max_ratio_error = 0.0;  // max |r - 1|
  double min_ratio = std::numeric_limits<double>::infinity();
  double max_ratio = 0.0;

  // For samples without ratios: all NaN.
  static RatioSums undefined();

  BROADLOOM_HD void add(const RatioSums& other) {
    old_approx_kl += other.old_approx_kl;
    approx_kl += other.approx_kl;
    clipped += other.clipped;
    ratios += other.ratios;
    squared_ratios += other.squared_ratios;
    // Written so that NaN stays.
    if (!(other.min_ratio >= min_ratio)) min_ratio = other.min_ratio;
    if (!(other.max_ratio <= max_ratio)) max_ratio = other.max_ratio;
    keep_ratio_error(other.max_ratio_error);
  }
  // max_ratio_error becomes the larger one. NaN counts as the largest and stays.
  BROADLOOM_HD void keep_ratio_error(double error) {
    if (error > max_ratio_error || error != error) max_ratio_error = error;
  }

  // Effective sample size of the ratios as importance weights, (sum r)^2 / sum r^2, in per cent of
  // the samples: 100 if all ratios are equal, 100 / samples if one outweighs all others
  // (Martino, Elvira and Louzada 2017, "Effective sample size for importance sampling based on
  // discrepancy measures").
  double ess_percent(double samples) const {
    return 100.0 * (ratios / squared_ratios) * (ratios / samples);
  }
};

}  // namespace broadloom
