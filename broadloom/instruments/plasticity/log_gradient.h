// The distribution of the sizes of a gradient's entries.
#pragma once

#include <span>

namespace broadloom {

struct LogGradient {
  // Kurtosis E(l - mean)^4 / Var(l)^2 of l = log(|g_i| + 1e-8) over all entries; 3 for a normal
  // distribution (Mayor et al. 2025, appendix B; their epsilon is not given). NaN if all entries
  // have the same size.
  double kurtosis = 0.0;
  double zeros = 0.0;  // entries that are exactly 0, in per cent: a separate peak
};

// gradient: [P], at least one. Cost: P logarithms, about 5 ns each.
LogGradient log_gradient(std::span<const float> gradient);

}  // namespace broadloom
