// How a scene is shown in three dimensions: camera, light, ground and colours, the same for all
// models, whatever their files say of these.
#pragma once

#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// After mjv_updateScene() of the same data. The camera follows the view's body. Planes become
// ground without an end, with lines a metre apart (0.1 m where less than that is seen); geoms
// without a colour get one by limb; the sky is light, and what is far fades into it. context: its
// fog and shadows are set.
void set_stage(Scene scene, const View& view, double aspect, mjvScene& stage, mjrContext& context);

// Geoms that set_stage() adds to a scene of one plane.
inline constexpr int kStageGeoms = 256;

}  // namespace broadloom::mujoco
