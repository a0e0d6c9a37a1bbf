// Draws a scene in two dimensions for `broadloom watch`.
#pragma once

#include "bridges/mujoco/task.h"
#include "broadloom/env/drawing.h"

namespace broadloom::mujoco {

// Projects the geoms along y or z, the furthest first. Capsules and cylinders become thick lines,
// spheres circles, and boxes outlines. Height fields, from the side, become the section through the
// view's body. The view follows this body. Marks on the ground are a metre apart.
void draw_geoms(Scene scene, const View& view, Drawing& out);

}  // namespace broadloom::mujoco
