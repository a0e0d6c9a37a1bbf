#include "broadloom/instruments/explained_variance.h"

#include <limits>

namespace broadloom {

double explained_variance(std::span<const float> advantages, std::span<const float> values) {
  const std::size_t count = advantages.size();
  double target_mean = 0.0;
  double error_mean = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    target_mean += static_cast<double>(advantages[i]) + values[i];
    error_mean += advantages[i];
  }
  target_mean /= static_cast<double>(count);
  error_mean /= static_cast<double>(count);
  double target_variance = 0.0;
  double error_variance = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double target = static_cast<double>(advantages[i]) + values[i] - target_mean;
    const double error = advantages[i] - error_mean;
    target_variance += target * target;
    error_variance += error * error;
  }
  if (target_variance == 0.0) return std::numeric_limits<double>::quiet_NaN();
  return 1.0 - error_variance / target_variance;
}

}  // namespace broadloom
