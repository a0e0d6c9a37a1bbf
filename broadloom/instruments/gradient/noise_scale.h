// The gradient noise scale from gradients at two batch sizes.
#pragma once

#include <limits>

namespace broadloom {

// Estimates for the gradient g of single samples, with mean G. NaN if the two sizes are equal.
struct NoiseScale {
  double squared_norm = std::numeric_limits<double>::quiet_NaN();     // |G|^2
  double sample_variance = std::numeric_limits<double>::quiet_NaN();  // Tr Cov(g)

  // Their ratio, in samples: the batch size at which noise and signal are equally strong. NaN if
  // either estimate has the wrong sign.
  double samples() const {
    if (squared_norm > 0.0 && sample_variance >= 0.0) return sample_variance / squared_norm;
    return std::numeric_limits<double>::quiet_NaN();
  }
};

// Unbiased estimates from two batch sizes (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1).
//
// For a mean over B independent samples, E |G_B|^2 = |G|^2 + Tr Cov(g) / B. Two sizes give both
// unknowns. Each estimate may be negative. Their ratio is biased, so average both over time before
// you divide.
//
// squared_small, squared_big: |G_B|^2 at the sizes `small` < `big`, in samples.
inline NoiseScale noise_scale(double squared_small, double small, double squared_big, double big) {
  if (small == big) return {};
  return {(big * squared_big - small * squared_small) / (big - small),
          (squared_small - squared_big) / (1.0 / small - 1.0 / big)};
}

}  // namespace broadloom
