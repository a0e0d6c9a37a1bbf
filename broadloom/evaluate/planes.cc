#include "broadloom/evaluate/planes.h"

#include <algorithm>
#include <vector>

namespace broadloom {
namespace {

// Draws the planes of one cell with the given lower left corner.
void draw_cell(const std::uint8_t* cell, int planes, Point low, double full, Drawing& out) {
  const auto filled = planes - std::count(cell, cell + planes, std::uint8_t{0});
  int drawn = 0;
  for (int plane = 0; plane < planes; ++plane) {
    if (cell[plane] == 0) continue;
    const double side = 1.0 - static_cast<double>(drawn) / static_cast<double>(filled);
    const double inset = 0.5 * (1.0 - side);
    out.rectangle(planes == 1 ? Ink::kInk : colour(plane), {low.x + inset, low.y + inset}, side,
                  side, cell[plane] / full);
    ++drawn;
  }
}

}  // namespace

bool is_small_image(const Space& space) {
  return space.kind == SpaceKind::kBox && space.dtype == Dtype::kU8 && space.shape.size() == 3 &&
         space.size > 0 && space.size <= kMostImageNumbers;
}

const ObservationGroup* small_image_group(const Space& space) {
  const auto found =
      std::find_if(space.groups.begin(), space.groups.end(), [](const ObservationGroup& group) {
        return group.dtype == Dtype::kU8 && group.shape.size() == 3 &&
               group.size <= kMostImageNumbers;
      });
  return found == space.groups.end() ? nullptr : &*found;
}

int planes_of(const Space& space) { return space.shape[2] / space.frames; }

void draw_planes(const Space& space, const std::uint8_t* image, Drawing& out) {
  const int rows = space.shape[0], cols = space.shape[1];
  const int planes = planes_of(space), older = space.shape[2] - planes;
  const double bound = *std::max_element(space.high.begin(), space.high.end());
  const double full = bound >= 1.0 ? bound : 255.0;
  out.view(0.0, 0.0, cols, rows);
  out.rectangle(Ink::kPanel, {0.0, 0.0}, cols, rows);
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const std::uint8_t* cell = image + (row * cols + col) * space.shape[2] + older;
      draw_cell(cell, planes, {1.0 * col, 1.0 * (rows - 1 - row)}, full, out);
    }
  }
}

int draw_group(const ObservationGroup& group, int frames, const float* row, Drawing& out) {
  Space space = Space::bytes(group.shape, static_cast<int>(group.full_scale));
  space.frames = frames;
  const float* const numbers = row + group.first;
  std::vector<std::uint8_t> image(static_cast<std::size_t>(group.size));
  std::transform(numbers, numbers + group.size, image.begin(),
                 [](float number) { return static_cast<std::uint8_t>(number); });
  draw_planes(space, image.data(), out);
  return planes_of(space);
}

}  // namespace broadloom
