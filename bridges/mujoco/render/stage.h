// How a scene is shown in three dimensions: camera, light, ground and colours, the same for all
// models, whatever their files say of these.
#pragma once

#include <array>

#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// aspect: width of pictures by their height.
//
// Sets fog and shadows of the model that a renderer's context is made of: a copy, for nothing else.
void prepare_stage(const View& view, double aspect, mjModel& model);

// After mjv_updateScene() of the same data. The camera follows the view's body. Planes become
// ground without an end, with lines a metre apart (0.1 m where less than that is seen), as have
// height fields; geoms without a colour get one by limb; the sky is light, and what is far fades
// into it.
void set_stage(Scene scene, const View& view, double aspect, mjvScene& stage);

// Of the ground that is seen before it has faded: the side of a square, m, and its middle.
double seen_side(const View& view, double aspect);
std::array<double, 3> seen_middle(Scene scene, const View& view, double aspect);

// Geoms that set_stage() may add: what has no room is left out.
inline constexpr int kStageGeoms = 4000;

}  // namespace broadloom::mujoco
