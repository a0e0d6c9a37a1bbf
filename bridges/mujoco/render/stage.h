// The 3D stage: camera, light, ground and colours. It is the same for all models and ignores their
// files' settings.
#pragma once

#include <array>

#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// aspect: width / height of pictures.
//
// Sets fog and shadows in `model`, the renderer's own copy.
void prepare_stage(const View& view, double aspect, mjModel& model);

// Call this after mjv_updateScene() with the same data. The camera follows the view's body. Planes
// become endless ground. They and height fields get lines every metre (every 0.1 m in close views).
// Geoms without a colour get one by limb. The sky is light, and distant objects fade into it.
void set_stage(Scene scene, const View& view, double aspect, mjvScene& stage);

// The visible ground: side of a square in m, and its middle.
double seen_side(const View& view, double aspect);
std::array<double, 3> seen_middle(Scene scene, const View& view, double aspect);

// Most geoms that set_stage() adds. It leaves out the rest.
inline constexpr int kStageGeoms = 4000;

}  // namespace broadloom::mujoco
