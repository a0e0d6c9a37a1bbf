// Capability: environments that show what their states look like. broadloom watch asks for it.
#pragma once

#include "broadloom/env/drawing.h"

namespace broadloom {

class Drawable {
 public:
  virtual ~Drawable() = default;

  // Adds what the environment's present state looks like, and what `action` is in words, for who
  // watches it. action: [A] that is about to be taken; null: none. Adds no shapes where it cannot
  // draw itself, or where the drawing says that it is as the one before (Drawing::as_before). From
  // any thread but while that environment is stepped.
  virtual void draw(int env, const float* action, Drawing& out) const = 0;
  // Whether draw() can show states in three dimensions, where VecEnvOptions::view asks for that.
  virtual bool has_3d_view() const { return false; }
};

}  // namespace broadloom
