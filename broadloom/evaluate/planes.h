// Small images as drawings, for environments that observe planes and do not draw themselves.
#pragma once

#include <cstdint>

#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Numbers of an image that is still drawn cell by cell.
inline constexpr int kMostImageNumbers = 4096;

// Whether the space is uint8 [rows, columns, planes] of no more numbers than that.
bool is_small_image(const Space& space);

// Those that are drawn: all, or of a stack of frames the newest frame's.
int planes_of(const Space& space);

// Such an image, a cell one unit wide and row 0 on top: each plane has a colour, colour(plane), and
// an image of one plane is drawn in ink. Where several planes have something in a cell, squares lie
// in each other, the last plane's innermost. How strong a square is says its number, as a share of
// the space's largest upper bound.
void draw_planes(const Space& space, const std::uint8_t* image, Drawing& out);

}  // namespace broadloom
