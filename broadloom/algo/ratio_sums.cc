#include "broadloom/algo/ratio_sums.h"

#include <cmath>

namespace broadloom {

RatioSums RatioSums::undefined() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
}

void RatioSums::add(const RatioSums& other) {
  old_approx_kl += other.old_approx_kl;
  approx_kl += other.approx_kl;
  clipped += other.clipped;
  ratios += other.ratios;
  squared_ratios += other.squared_ratios;
  // What is not a number stays.
  if (!(other.min_ratio >= min_ratio)) min_ratio = other.min_ratio;
  if (!(other.max_ratio <= max_ratio)) max_ratio = other.max_ratio;
  keep_ratio_error(other.max_ratio_error);
}

void RatioSums::keep_ratio_error(double error) {
  if (!(error <= max_ratio_error) && !std::isnan(max_ratio_error)) max_ratio_error = error;
}

}  // namespace broadloom
