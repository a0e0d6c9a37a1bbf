// Draws the valley of the two mountain cars.
#pragma once

#include <cmath>
#include <vector>

#include "broadloom/core/branch_free.h"
#include "broadloom/env/drawing.h"

namespace broadloom {

struct HillScene {
  double low, high;  // range of positions
  double goal;
  double position;
  double throttle;  // from -1 to 1; 0: none
};

// Height of the hill. Gravity pulls by cos(3x), which is the slope of sin(3x) / 3.
inline double hill_height(double x) { return sin_cos(3.0 * x).sine / 3.0; }

// Draws the car on the slope, with an arrow for its throttle.
inline void draw_car(const HillScene& scene, Drawing& out) {
  constexpr double kHalf = 0.06, kWheel = 0.022, kBody = 0.05;
  const double slope = sin_cos(3.0 * scene.position).cosine;
  const double length = std::sqrt(1.0 + slope * slope);
  const double cosine = 1.0 / length, sine = slope / length;
  const double ground = hill_height(scene.position);
  // The point at given distances along the slope and away from it.
  const auto point = [&](double along, double off) {
    return Point{scene.position + along * cosine - off * sine,
                 ground + along * sine + off * cosine};
  };
  out.polygon(Ink::kInk, {point(-kHalf, kWheel), point(kHalf, kWheel),
                          point(0.6 * kHalf, kWheel + kBody), point(-0.6 * kHalf, kWheel + kBody)});
  for (const double side : {-0.6, 0.6}) {
    out.circle(Ink::kMuted, point(side * kHalf, kWheel), kWheel);
  }
  const double side = scene.throttle < 0.0 ? -1.0 : 1.0;
  const double tail = side * (kHalf + 0.01), height = kWheel + 0.5 * kBody;
  out.arrow(Ink::kAccent, 0.012, point(tail, height), point(tail + 0.22 * scene.throttle, height));
}

inline void draw_hill(const HillScene& scene, Drawing& out) {
  constexpr int kPieces = 60;
  constexpr double kFloor = -0.45, kFlag = 0.16;
  out.view(scene.low - 0.05, kFloor, scene.high + 0.05, 0.62);
  std::vector<Point> curve;
  for (int i = 0; i <= kPieces; ++i) {
    const double x = scene.low + (scene.high - scene.low) * i / kPieces;
    curve.push_back({x, hill_height(x)});
  }
  std::vector<Point> ground = curve;
  ground.push_back({scene.high, kFloor});
  ground.push_back({scene.low, kFloor});
  out.polygon(Ink::kPanel, ground);
  out.line(Ink::kMuted, 0.01, curve);
  const double foot = hill_height(scene.goal);
  out.line(Ink::kMuted, 0.008, {{scene.goal, foot}, {scene.goal, foot + kFlag}});
  out.polygon(Ink::kGood, {{scene.goal, foot + kFlag},
                           {scene.goal + 0.08, foot + kFlag - 0.03},
                           {scene.goal, foot + kFlag - 0.06}});
  draw_car(scene, out);
}

}  // namespace broadloom
