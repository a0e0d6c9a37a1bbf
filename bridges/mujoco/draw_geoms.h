// What a scene looks like in two dimensions, for who watches it.
#pragma once

#include "bridges/mujoco/task.h"
#include "broadloom/env/drawing.h"

namespace broadloom::mujoco {

// The geoms as they are placed, projected along y or z, those that are further away first: capsules
// and cylinders as thick lines, spheres as circles, boxes as their outline, height fields,
// from the side, as their section through the view's body. The view's body stays
// in the middle, and marks on the ground, a metre apart, go by.
void draw_geoms(Scene scene, const View& view, Drawing& out);

}  // namespace broadloom::mujoco
