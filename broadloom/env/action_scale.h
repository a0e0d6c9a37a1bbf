// Actions of a Box scaled from [-1, 1] to the environment's own bounds.
//
// Option "scale_actions" of every environment whose actions are a Box with finite bounds
// (env.scale_actions in a config). A new policy draws actions around 0 with a deviation near 1: it
// never reaches bounds such as 5 to 35, and sees a small part of 0 to 1,000. Scaled, -1 stands for
// the lower bound and 1 for the upper one, as with Gymnasium's RescaleAction.
#pragma once

#include <memory>
#include <string_view>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

struct ActionScale {
  bool scale_actions = false;

  bool any() const { return scale_actions; }

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    v("scale_actions", scale_actions,
      "Scale actions from -1 to 1 to the Box's bounds; a new run's default depends on the bounds.");
  }
};

// Whether `option` is one of those above.
bool is_scale_option(std::string_view option);

// kInvalidConfig, with the nearest name or the expected value.
Result<ActionScale> make_action_scale(const Overrides& options);

// Whether actions are a Box whose bounds are all finite.
bool has_bounded_actions(const EnvSpec& spec);

// Whether a new run scales actions unless it is told otherwise: some bound of a bounded Box lies
// within (-1, 1), or a range is wider than 20. The library's own environments are left as
// published: ask is_built_in() first.
bool scales_by_default(const EnvSpec& spec);

// Makes the action space [-1, 1] and keeps the own bounds beside it (Space::own_low). Takes the
// score range away, as any option does. kInvalidConfig where actions have no finite bounds.
Status describe_action_scale(const ActionScale& scale, EnvSpec& spec);

// action: a number of [-1, 1], others are clipped to it; low, high: the own bounds. In float32, so
// that each implementation gives the same bits.
inline float scaled_action(float action, float low, float high) {
  const float half = 0.5f * high - 0.5f * low, middle = 0.5f * high + 0.5f * low;
  const float inside = action < -1.0f ? -1.0f : action > 1.0f ? 1.0f : action;
  const float scaled = inside * half + middle;
  return scaled < low ? low : scaled > high ? high : scaled;
}

// The environments, with scaled actions; one multiplication and one addition a number and step.
std::unique_ptr<VecEnv> scale_actions(std::unique_ptr<VecEnv> inner);

}  // namespace broadloom
