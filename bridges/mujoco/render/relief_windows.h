// The part of a height field that can be seen, for MuJoCo's renderer, which draws all of a field
// whatever the camera sees: of the quadruped's ground half a million triangles a pass.
#pragma once

#include <array>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// Of all height fields of a model. A renderer's context is made of a copy of the model, in which
// this cuts the fields to windows; scenes are of whole ones.
class ReliefWindows {
 public:
  ReliefWindows() = default;  // of no fields
  // side: of a window, m. copy: before the context is made of it.
  ReliefWindows(const mjModel& whole, double side, mjModel& copy);

  // Moves the window of a field, whose geom this is, to where `middle`, in the field's own x and y,
  // is near its middle, as far as the field reaches. True where it has moved, and has to be
  // uploaded.
  bool follow(const mjModel& whole, int field, const double* middle, mjModel& copy);
  // The middle of the window, in the field's own x and y.
  std::array<double, 2> middle(int field) const;

 private:
  // Along x, then y.
  struct Window {
    int points[2];
    int first[2];
    double spacing[2];
    double half[2];  // of the whole field
  };
  static void fill(const mjModel& whole, int field, const Window& window, mjModel& copy);

  std::vector<Window> windows_;
};

}  // namespace broadloom::mujoco
