// Draws a torque as an arrow around its axis.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/branch_free.h"
#include "broadloom/env/drawing.h"

namespace broadloom {

// share: torque divided by the largest torque, from -1 to 1; positive is counter-clockwise. The
// arrow's length is proportional to it, up to half a turn, with its middle above the axis. Short
// arrows have small heads.
inline void draw_torque(Ink ink, double width, Point axis, double radius, double share,
                        Drawing& out) {
  constexpr double kHalfTurn = 3.141592653589793;
  constexpr int kPieces = 16;
  if (share == 0.0) return;
  std::vector<Point> arc;
  for (int i = 0; i <= kPieces; ++i) {
    const double angle = share * kHalfTurn * (static_cast<double>(i) / kPieces - 0.5);
    const auto [sine, cosine] = sin_cos(angle);
    arc.push_back({axis.x - radius * sine, axis.y + radius * cosine});
  }
  out.line(ink, width, arc);
  const auto [sine, cosine] = sin_cos(0.5 * share * kHalfTurn);
  const double size = std::min(1.0, 5.0 * std::abs(share));
  const double ahead = (share > 0.0 ? 4.0 : -4.0) * width * size, aside = 2.0 * width * size;
  const Point tip = arc.back();
  out.polygon(ink, {{tip.x - ahead * cosine, tip.y - ahead * sine},
                    {tip.x - aside * sine, tip.y + aside * cosine},
                    {tip.x + aside * sine, tip.y - aside * cosine}});
}

}  // namespace broadloom
