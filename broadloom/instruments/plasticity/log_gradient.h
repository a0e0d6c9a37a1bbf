// How the sizes of a gradient's entries are distributed.
#pragma once

#include <span>

namespace broadloom {

struct LogGradient {
  // Of l = log(|g_i| + 1e-8) over all entries: E(l - mean)^4 / Var(l)^2, 3 for a normal
  // distribution (Mayor et al. 2025, appendix B; their epsilon is not given). Not a number where
  // all entries have one size.
  double kurtosis = 0.0;
  double zeros = 0.0;  // entries that are exactly 0, in per cent: they make a peak of their own
};

// gradient: [P], at least one. Cost: P logarithms, about 5 ns each.
LogGradient log_gradient(std::span<const float> gradient);

}  // namespace broadloom
