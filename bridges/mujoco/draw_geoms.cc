#include "bridges/mujoco/draw_geoms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bridges/mujoco/limbs.h"

namespace broadloom::mujoco {
namespace {

// Projects points of the world to the picture.
class Projection {
 public:
  Projection(Scene scene, const View& view)
      : from_above_(view.from_above),
        x_(view.body > 0 ? scene.data.xpos[3 * view.body] : 0.0),
        y_(view.body > 0 && from_above_ ? scene.data.xpos[3 * view.body + 1] : 0.0),
        section_(view.body > 0 ? scene.data.xpos[3 * view.body + 1] : 0.0) {}

  Point project(const double* p) const { return {p[0] - x_, from_above_ ? p[1] - y_ : p[2]}; }
  // Larger is nearer.
  double nearness(const double* p) const { return from_above_ ? p[2] : -p[1]; }
  bool from_above() const { return from_above_; }
  double x() const { return x_; }
  double y() const { return y_; }
  double section() const { return section_; }  // y of the section shown from the side

 private:
  bool from_above_;
  double x_, y_, section_;
};

Ink ink_of(const mjModel& model, int body) {
  if (body == 0) return Ink::kMuted;
  const int limb = limb_of(model, body);
  return model.body_parentid[limb] == 0 ? Ink::kInk : colour(limb);
}

double cross(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The convex hull (Andrew 1979), counter-clockwise.
std::vector<Point> hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> out;
  for (const int pass : {0, 1}) {
    const std::size_t first = out.size();
    for (const Point& point : points) {
      while (out.size() >= first + 2 && cross(out[out.size() - 2], out.back(), point) <= 0.0)
        out.pop_back();
      out.push_back(point);
    }
    out.pop_back();
    if (pass == 0) std::reverse(points.begin(), points.end());
  }
  return out;
}

// Converts a geom's own coordinates to the world's.
void to_world(Scene scene, int geom, const double* own, double* out) {
  const double* position = scene.data.geom_xpos + 3 * geom;
  const double* turn = scene.data.geom_xmat + 9 * geom;
  for (int i = 0; i < 3; ++i) {
    out[i] =
        position[i] + turn[3 * i] * own[0] + turn[3 * i + 1] * own[1] + turn[3 * i + 2] * own[2];
  }
}

void draw_rod(Scene scene, int geom, const Projection& projection, Ink ink, Drawing& out) {
  const double* size = scene.model.geom_size + 3 * geom;
  const bool round = scene.model.geom_type[geom] == mjGEOM_CAPSULE;
  std::vector<Point> ends;
  for (const double side : {-1.0, 1.0}) {
    const double own[3] = {0.0, 0.0, side * size[1]};
    double position[3];
    to_world(scene, geom, own, position);
    ends.push_back(projection.project(position));
    if (round) out.circle(ink, ends.back(), size[0]);
  }
  const double length = std::hypot(ends[1].x - ends[0].x, ends[1].y - ends[0].y);
  if (length > 0.0) out.line(ink, 2.0 * size[0], ends);
  if (!round && length < size[0]) out.circle(ink, ends[0], size[0]);  // viewed along its axis
}

void draw_box(Scene scene, int geom, const Projection& projection, Ink ink, Drawing& out) {
  const double* size = scene.model.geom_size + 3 * geom;
  std::vector<Point> corners;
  for (int corner = 0; corner < 8; ++corner) {
    double own[3], position[3];
    for (int i = 0; i < 3; ++i) own[i] = (corner >> i & 1) != 0 ? size[i] : -size[i];
    to_world(scene, geom, own, position);
    corners.push_back(projection.project(position));
  }
  out.polygon(ink, hull(std::move(corners)));
}

// Calls draw at every metre in [low, high] of a picture shifted by `offset`.
template <class Draw>
void each_metre(double low, double high, double offset, const Draw& draw) {
  const double first = std::ceil(low + offset) - offset;
  const int count = static_cast<int>(std::floor(high - first)) + 1;
  for (int i = 0; i < count; ++i) draw(first + i);
}

void draw_ground(const View& view, const Projection& projection, bool has_relief, Drawing& out) {
  const double tick = 0.02 * (view.top - view.bottom), width = 0.25 * tick;
  const bool from_above = projection.from_above();
  each_metre(view.left, view.right, projection.x(), [&](double x) {
    out.line(Ink::kFaint, width,
             {{x, from_above ? view.bottom : -tick}, {x, from_above ? view.top : 0.0}});
  });
  if (!from_above && has_relief) return;
  if (!from_above) return out.line(Ink::kMuted, width, {{view.left, 0.0}, {view.right, 0.0}});
  each_metre(view.bottom, view.top, projection.y(), [&](double y) {
    out.line(Ink::kFaint, width, {{view.left, y}, {view.right, y}});
  });
}

bool is_relief(const mjModel& model, int geom) { return model.geom_type[geom] == mjGEOM_HFIELD; }

// Draws the section of an unrotated height field through the middle.
void draw_relief(Scene scene, int geom, const View& view, const Projection& projection,
                 Drawing& out) {
  if (projection.from_above()) return;
  const mjModel& model = scene.model;
  const int field = model.geom_dataid[geom];
  const int rows = model.hfield_nrow[field], columns = model.hfield_ncol[field];
  const double* size = model.hfield_size + 4 * field;
  const double* position = scene.data.geom_xpos + 3 * geom;
  const double spacing = 2.0 * size[0] / (columns - 1);
  const double row = (projection.section() - position[1] + size[1]) / (2.0 * size[1]) * (rows - 1);
  const int nearest = std::clamp(static_cast<int>(std::lround(row)), 0, rows - 1);
  const float* heights = model.hfield_data + model.hfield_adr[field] + nearest * columns;
  std::vector<Point> points;
  for (int c = 0; c < columns; ++c) {
    const double x = position[0] - size[0] + spacing * c - projection.x();
    if (x < view.left - spacing || x > view.right + spacing) continue;
    points.push_back({x, position[2] + size[2] * static_cast<double>(heights[c])});
  }
  if (points.size() > 1) out.line(Ink::kMuted, 0.005 * (view.top - view.bottom), points);
}

void draw_geom(Scene scene, int geom, const Projection& projection, Drawing& out) {
  const Ink ink = ink_of(scene.model, scene.model.geom_bodyid[geom]);
  switch (scene.model.geom_type[geom]) {
    case mjGEOM_CAPSULE:
    case mjGEOM_CYLINDER:
      return draw_rod(scene, geom, projection, ink, out);
    case mjGEOM_BOX:
      return draw_box(scene, geom, projection, ink, out);
    case mjGEOM_PLANE:
    case mjGEOM_HFIELD:
      return;
    default:
      return out.circle(ink, projection.project(scene.data.geom_xpos + 3 * geom),
                        scene.model.geom_type[geom] == mjGEOM_SPHERE
                            ? scene.model.geom_size[3 * geom]
                            : scene.model.geom_rbound[geom]);
  }
}

}  // namespace

void draw_geoms(Scene scene, const View& view, Drawing& out) {
  const Projection projection(scene, view);
  out.view(view.left, view.bottom, view.right, view.top);
  bool has_relief = false;
  for (int geom = 0; geom < scene.model.ngeom; ++geom) {
    if (!is_relief(scene.model, geom)) continue;
    has_relief = true;
    draw_relief(scene, geom, view, projection, out);
  }
  draw_ground(view, projection, has_relief, out);
  std::vector<int> order(static_cast<std::size_t>(scene.model.ngeom));
  std::iota(order.begin(), order.end(), 0);
  const auto nearness = [&](int geom) {
    return projection.nearness(scene.data.geom_xpos + 3 * geom);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return nearness(a) < nearness(b); });
  for (const int geom : order) {
    if (scene.model.geom_rgba[4 * geom + 3] > 0.0f) draw_geom(scene, geom, projection, out);
  }
}

}  // namespace broadloom::mujoco
