// Pictures of drawings in pixels: for films that are no pages.
#pragma once

#include <cstdint>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/drawing.h"

namespace broadloom {

struct Raster {
  int width = 0, height = 0;      // even, as MP4 needs it
  std::vector<std::uint8_t> rgb;  // [height, width, 3], the top row first

  bool operator==(const Raster&) const = default;
};

// Paints shapes in the colours of the pages' light theme, with smooth edges. Text is left out. The
// longer side of the view has `side` pixels.
class Painter {
 public:
  Painter(const Drawing& view, int side);

  void clear();  // to the page's colour
  // kNotFound if the shape is an image that this machine cannot decode.
  Status add(const Shape& shape);
  const Raster& picture() const { return picture_; }

 private:
  template <class Distance>
  void cover(const Shape& shape, Point low, Point high, const Distance& distance);
  Point pixel(double x, double y) const;
  std::vector<Point> points(const Shape& shape, std::size_t first) const;
  Status add_image(const Shape& shape);

  Raster picture_;
  double left_, top_, scale_;
};

}  // namespace broadloom
