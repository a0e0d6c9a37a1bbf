// Capability: environments that draw their states. `broadloom watch` uses it.
#pragma once

#include "broadloom/env/drawing.h"

namespace broadloom {

class Drawable {
 public:
  virtual ~Drawable() = default;

  // Adds shapes that show the environment's current state, and describes `action` in words.
  // - action: [A], the action about to be taken. Null: none.
  // - Adds no shapes if the environment cannot draw itself, or if it sets Drawing::as_before.
  // Any thread may call this, but not while the environment is stepped.
  virtual void draw(int env, const float* action, Drawing& out) const = 0;
  // Whether draw() supports VecEnvOptions::view = ViewKind::k3d.
  virtual bool has_3d_view() const { return false; }
};

}  // namespace broadloom
