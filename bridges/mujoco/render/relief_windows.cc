#include "bridges/mujoco/render/relief_windows.h"

#include <algorithm>
#include <cmath>

namespace broadloom::mujoco {

ReliefWindows::ReliefWindows(const mjModel& whole, double side, mjModel& copy) {
  for (int field = 0; field < whole.nhfield; ++field) {
    int geoms = 0;
    for (int geom = 0; geom < whole.ngeom; ++geom)
      geoms += whole.geom_type[geom] == mjGEOM_HFIELD && whole.geom_dataid[geom] == field ? 1 : 0;
    const int points[2] = {whole.hfield_ncol[field], whole.hfield_nrow[field]};
    Window window{};
    for (int axis = 0; axis < 2; ++axis) {
      window.half[axis] = whole.hfield_size[4 * field + axis];
      window.spacing[axis] = 2.0 * window.half[axis] / (points[axis] - 1);
      const double wanted = std::ceil(side / window.spacing[axis]) + 1.0;
      const bool is_cut =
          geoms == 1 && wanted < points[axis];  // geoms that share a field have other places
      window.points[axis] = is_cut ? static_cast<int>(wanted) : points[axis];
      copy.hfield_size[4 * field + axis] = 0.5 * window.spacing[axis] * (window.points[axis] - 1);
    }
    copy.hfield_ncol[field] = window.points[0];
    copy.hfield_nrow[field] = window.points[1];
    fill(whole, field, window, copy);
    windows_.push_back(window);
  }
}

bool ReliefWindows::follow(const mjModel& whole, int field, const double* middle, mjModel& copy) {
  Window& window = windows_[static_cast<std::size_t>(field)];
  const int all[2] = {whole.hfield_ncol[field], whole.hfield_nrow[field]};
  bool moves = false;
  int first[2];
  for (int axis = 0; axis < 2; ++axis) {
    const int most = all[axis] - window.points[axis];
    const double place = (middle[axis] + window.half[axis]) / window.spacing[axis];
    const double wanted = std::round(place - 0.5 * (window.points[axis] - 1));
    first[axis] = static_cast<int>(std::clamp(wanted, 0.0, static_cast<double>(most)));
    moves = moves || std::abs(first[axis] - window.first[axis]) > window.points[axis] / 20;
  }
  if (!moves) return false;
  std::copy_n(first, 2, window.first);
  fill(whole, field, window, copy);
  return true;
}

void ReliefWindows::fill(const mjModel& whole, int field, const Window& window, mjModel& copy) {
  const float* source = whole.hfield_data + whole.hfield_adr[field];
  float* target = copy.hfield_data + copy.hfield_adr[field];
  for (int row = 0; row < window.points[1]; ++row) {
    const int first = (window.first[1] + row) * whole.hfield_ncol[field] + window.first[0];
    target = std::copy_n(source + first, window.points[0], target);
  }
}

std::array<double, 2> ReliefWindows::middle(int field) const {
  const Window& window = windows_[static_cast<std::size_t>(field)];
  std::array<double, 2> out{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    out[axis] = window.spacing[axis] * (window.first[axis] + 0.5 * (window.points[axis] - 1)) -
                window.half[axis];
  }
  return out;
}

}  // namespace broadloom::mujoco
