// Draws small images, for environments that observe planes and have no drawings of their own.
#pragma once

#include <cstdint>

#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Most numbers of an image that is drawn cell by cell.
inline constexpr int kMostImageNumbers = 4096;

// Whether the space is uint8 [rows, columns, planes] with at most that many numbers.
bool is_small_image(const Space& space);

// The first group of a dictionary that is such an image; null: none.
const ObservationGroup* small_image_group(const Space& space);

// The number of planes to draw: all, or those of the newest frame of a stack.
int planes_of(const Space& space);

// Draws an image with cells of one unit and row 0 on top. Each plane has a colour, colour(plane); a
// single plane is drawn in ink. Planes that share a cell are nested squares, the last plane
// innermost. A square's strength is its number divided by the space's largest upper bound.
void draw_planes(const Space& space, const std::uint8_t* image, Drawing& out);
// The same of a group in a row of floats, of which `frames` are stacked. Returns the number of
// planes.
int draw_group(const ObservationGroup& group, int frames, const float* row, Drawing& out);

}  // namespace broadloom
