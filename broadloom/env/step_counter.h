// Capability: environments that sum reward terms and measures over steps. An environment needs it
// if spec().counted() is not 0. Metrics and evaluations use it.
#pragma once

#include <span>

namespace broadloom {

class StepCounter {
 public:
  virtual ~StepCounter() = default;

  // Writes sums over the environment's steps since the last call, then resets them. out:
  // [spec().counted()]; first each reward term, weight times term, before the task clips the
  // reward; then the measures. Sums are not saved as state, since blocks begin and end with them.
  virtual void take_step_sums(int env, std::span<double> out) = 0;
};

}  // namespace broadloom
