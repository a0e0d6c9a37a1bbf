// Scales actions of a Box from [-1, 1] to the environment's own bounds.
//
// Option "scale_actions" of all environments whose actions are a Box with finite bounds
// (env.scale_actions in a config). A new policy draws actions around 0 with a standard deviation
// near 1. It never reaches bounds such as 5 to 35, and explores a small part of 0 to 1,000. With
// scaling, -1 is the lower bound and 1 the upper one, as with Gymnasium's RescaleAction.
#pragma once

#include <cstddef>
#include <memory>

#include "broadloom/core/config_table.h"
#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct ActionScale {
  bool scale_actions = false;

  bool any() const { return scale_actions; }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("scale_actions", scale_actions,
      "Scale actions from -1 to 1 to the Box's bounds, which changes none of a Box of -1 to 1; a "
      "new run's default depends on the bounds.");
  }
};

// Whether actions are a Box with finite bounds.
bool has_bounded_actions(const EnvSpec& spec);

// The default of a new run: whether a bound of a bounded Box lies within (-1, 1), or a range is
// wider than 20. The library's own environments stay as published, so check is_built_in() first.
bool scales_by_default(const EnvSpec& spec);

// Sets the action space to [-1, 1] and keeps the original bounds in Space::own_low and own_high.
// Removes the score range, as any option does. kInvalidConfig if actions have no finite bounds.
Status describe_action_scale(const ActionScale& scale, EnvSpec& spec);

// Scales one number. action: clipped to [-1, 1]. low, high: the original bounds. Computed in
// float32, so that all implementations give the same bits.
BROADLOOM_HD inline float scaled_action(float action, float low, float high) {
  const float half = 0.5f * high - 0.5f * low, middle = 0.5f * high + 0.5f * low;
  const float inside = action < -1.0f ? -1.0f : action > 1.0f ? 1.0f : action;
  const float scaled = inside * half + middle;
  return scaled < low ? low : scaled > high ? high : scaled;
}

// Number i of an action in the environment's own bounds. action: in those of `space`.
inline float own_action(const Space& space, std::size_t i, float action) {
  if (space.own_low.empty() || i < static_cast<std::size_t>(space.choice_count())) return action;
  return scaled_action(action, space.own_low[i], space.own_high[i]);
}

// Wraps the environments. Costs one multiplication and one addition per number and step.
std::unique_ptr<VecEnv> scale_actions(std::unique_ptr<VecEnv> inner);

}  // namespace broadloom
