#include "bridges/mujoco/quadruped/ground_contacts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <string>

#include "bridges/mujoco/quadruped/scene.h"

namespace broadloom::mujoco {
namespace {

using Vector = std::array<double, 3>;

Vector operator-(const Vector& a, const Vector& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector operator+(const Vector& a, const Vector& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Vector operator*(double s, const Vector& a) { return {s * a[0], s * a[1], s * a[2]}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// A contact of a sphere: the surface's normal and the distance to the sphere, below 0 if they
// overlap.
struct Touch {
  Vector normal{};
  double distance = 0.0;
};

// All contacts of a sphere, in the height field's own frame.
class Touches {
 public:
  static constexpr int kMost = 4;

  Touches(const Vector& center, double radius, double margin)
      : center_(center), radius_(radius), margin_(margin) {}

  // Adds a triangle. Corners are anticlockwise as seen from above.
  void add(const Vector& a, const Vector& b, const Vector& c) {
    const Vector across = cross(b - a, c - a);
    const Vector normal = (1.0 / std::sqrt(dot(across, across))) * across;
    if (faces(a, b, c, normal)) {
      add_face({normal, dot(center_ - a, normal) - radius_});
    } else {
      for (const auto& [start, end] : {std::pair(a, b), {b, c}, {c, a}}) add_edge(start, end);
      if (dot(center_ - a, normal) < 0.0 && faces(a, b, c, {0.0, 0.0, 1.0})) is_below_ = true;
    }
  }

  // Selects the contacts after all triangles were added. Faces below the center come first.
  // Otherwise, it is the least deep face above the center, or else the nearest edge. In a fold of
  // the ground, this edge is above the center.
  void finish() {
    if (faces_ > 0) return;
    if (deep_face_.distance > -kFar) {
      found_[faces_++] = deep_face_;
    } else if (edge_.distance < margin_) {
      found_[faces_++] = edge_;
    } else if (is_below_ && edge_above_.distance > -kFar) {
      found_[faces_++] = edge_above_;
    }
  }
  int count() const { return faces_; }
  const Touch& at(int i) const { return found_[i]; }

 private:
  static constexpr double kFar = 1e30;

  // Whether the center, moved along `direction`, lies in the triangle.
  bool faces(const Vector& a, const Vector& b, const Vector& c, const Vector& direction) const {
    for (const auto& [start, end] : {std::pair(a, b), {b, c}, {c, a}}) {
      if (dot(cross(end - start, center_ - start), direction) < 0.0) return false;
    }
    return true;
  }

  // Merges faces of the same plane.
  void add_face(const Touch& touch) {
    if (touch.distance >= margin_) return;
    if (touch.distance < -radius_) {
      if (touch.distance > deep_face_.distance) deep_face_ = touch;
      return;
    }
    constexpr double kSamePlane = 0.999;
    for (int i = 0; i < faces_; ++i) {
      if (dot(found_[i].normal, touch.normal) < kSamePlane) continue;
      if (touch.distance < found_[i].distance) found_[i] = touch;
      return;
    }
    if (faces_ < kMost) found_[faces_++] = touch;
  }

  void add_edge(const Vector& start, const Vector& end) {
    const Vector along = end - start;
    const double share = std::clamp(dot(center_ - start, along) / dot(along, along), 0.0, 1.0);
    const Vector away = center_ - (start + share * along);
    const double length = std::sqrt(dot(away, away));
    if (away[2] > 0.0 && length - radius_ < edge_.distance) {
      edge_ = {(1.0 / length) * away, length - radius_};
    } else if (away[2] < 0.0 && -length - radius_ > edge_above_.distance) {
      edge_above_ = {(-1.0 / length) * away, -length - radius_};
    }
  }

  Vector center_;
  double radius_, margin_;
  std::array<Touch, kMost> found_;
  int faces_ = 0;
  bool is_below_ = false;  // the center is below the surface
  Touch deep_face_{{}, -kFar}, edge_{{}, kFar}, edge_above_{{}, -kFar};
};

// The points of the ground.
class Grid {
 public:
  Grid(const mjModel& model, int geom) {
    const int field = model.geom_dataid[geom];
    rows_ = model.hfield_nrow[field];
    columns_ = model.hfield_ncol[field];
    size_ = model.hfield_size + 4 * field;
    heights_ = model.hfield_data + model.hfield_adr[field];
    across_ = 2.0 * size_[0] / (columns_ - 1);
    up_ = 2.0 * size_[1] / (rows_ - 1);
  }

  // Adds both triangles of every cell within `reach`, with MuJoCo's diagonal.
  void show(const Vector& center, double reach, Touches& touches) const {
    const auto [left, right] = cells(center[0] + size_[0], reach, across_, columns_);
    const auto [bottom, top] = cells(center[1] + size_[1], reach, up_, rows_);
    for (int r = bottom; r <= top; ++r) {
      for (int c = left; c <= right; ++c) {
        const Vector here = point(r, c), far = point(r + 1, c + 1);
        touches.add(here, far, point(r + 1, c));
        touches.add(here, point(r, c + 1), far);
      }
    }
  }

 private:
  struct Range {
    int first, last;
  };
  static Range cells(double place, double reach, double spacing, int points) {
    const auto cell = [&](double position) {  // NaN gives 0
      const double last = points - 2.0;
      return static_cast<int>(position / spacing > 0.0 ? std::min(position / spacing, last) : 0.0);
    };
    return {cell(place - reach), cell(place + reach)};
  }
  Vector point(int r, int c) const {
    return {c * across_ - size_[0], r * up_ - size_[1],
            size_[2] * static_cast<double>(heights_[r * columns_ + c])};
  }

  int rows_, columns_;
  const mjtNum* size_;
  const float* heights_;
  double across_, up_;
};

bool is_ground(const mjModel& model, int geom) {
  static const std::string name = scene_name("floor");
  return name == model.names + model.name_geomadr[geom];
}

mjfCollision mujoco_collide = nullptr;

// Convert to the field's frame and back. rotation: of the field, row-major.
Vector to_local(const mjtNum* rotation, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = rotation[i] * v[0] + rotation[3 + i] * v[1] + rotation[6 + i] * v[2];
  return out;
}
Vector to_world(const mjtNum* rotation, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = rotation[3 * i] * v[0] + rotation[3 * i + 1] * v[1] + rotation[3 * i + 2] * v[2];
  return out;
}

int collide(const mjModel* model, mjData* data, mjPreContact* contacts, int field, int sphere,
            mjtNum margin) {
  if (!is_ground(*model, field))
    return mujoco_collide(model, data, contacts, field, sphere, margin);
  const mjtNum *at = data->geom_xpos + 3 * field, *rotation = data->geom_xmat + 9 * field;
  const mjtNum* middle = data->geom_xpos + 3 * sphere;
  const Vector world{middle[0], middle[1], middle[2]};
  const Vector center = to_local(rotation, world - Vector{at[0], at[1], at[2]});
  const double radius = model->geom_size[3 * sphere];
  Touches touches(center, radius, margin);
  Grid(*model, field).show(center, radius + margin, touches);
  touches.finish();
  for (int i = 0; i < touches.count(); ++i) {
    const Touch& touch = touches.at(i);
    const Vector normal = to_world(rotation, touch.normal);
    const Vector pos = world - (radius + 0.5 * touch.distance) * normal;
    mjPreContact& out = contacts[i];
    out.dist = touch.distance;
    for (std::size_t k = 0; k < 3; ++k) {
      out.pos[k] = pos[k];
      out.normal[k] = normal[k];
      out.tangent[k] = 0.0;
    }
  }
  return touches.count();
}

}  // namespace

void use_ground_contacts(const Library& library) {
  static std::once_flag once;
  std::call_once(once, [&] {
    mujoco_collide = library.collisions[mjGEOM_HFIELD][mjGEOM_SPHERE];
    library.collisions[mjGEOM_HFIELD][mjGEOM_SPHERE] = collide;
  });
}

}  // namespace broadloom::mujoco
