// Visible windows of height fields. MuJoCo's renderer draws whole fields, whatever the camera sees.
// For the quadruped's ground, these are half a million triangles per pass.
#pragma once

#include <array>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/task.h"

namespace broadloom::mujoco {

// The windows of all height fields of a model. A renderer's context uses a copy of the model, whose
// fields are cut to windows. Scenes use the whole fields.
class ReliefWindows {
 public:
  ReliefWindows() = default;  // no fields
  // side: of a window, m. copy: the model for a context that is not made yet.
  ReliefWindows(const mjModel& whole, double side, mjModel& copy);

  // Centres a field's window near `middle` (in the field's own x and y), as far as the field
  // reaches. True if the window moved and must be uploaded.
  bool follow(const mjModel& whole, int field, const double* middle, mjModel& copy);
  // The middle of the window, in the field's own x and y.
  std::array<double, 2> middle(int field) const;

 private:
  // Values along x, then y.
  struct Window {
    int points[2];
    int first[2];
    double spacing[2];
    double half[2];  // half sizes of the whole field
  };
  static void fill(const mjModel& whole, int field, const Window& window, mjModel& copy);

  std::vector<Window> windows_;
};

}  // namespace broadloom::mujoco
