// Capability: environments that add up reward terms and measures over their steps, which is due
// where spec().counted() is not 0. Metrics and evaluations ask for it.
#pragma once

#include <span>

namespace broadloom {

class StepCounter {
 public:
  virtual ~StepCounter() = default;

  // Sums over the environment's steps since this was last called, [spec().counted()]: what each
  // reward term has paid, weight times term, before the sum is clipped where a task does so; then
  // the measures. They begin anew. They are no part of the state: blocks begin and end with them.
  virtual void take_step_sums(int env, std::span<double> out) = 0;
};

}  // namespace broadloom
