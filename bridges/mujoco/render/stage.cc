#include "bridges/mujoco/render/stage.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bridges/mujoco/limbs.h"

namespace broadloom::mujoco {
namespace {

using Colour = std::array<float, 3>;
using Vector = std::array<double, 3>;

constexpr Colour kSky{0.90f, 0.93f, 0.97f};
constexpr Colour kGround{0.80f, 0.82f, 0.84f}, kLines{0.66f, 0.69f, 0.73f};
constexpr Colour kTrunk{0.30f, 0.34f, 0.41f};
constexpr std::array<Colour, 4> kLimbs{
    {{0.27f, 0.50f, 0.80f}, {0.92f, 0.58f, 0.24f}, {0.34f, 0.64f, 0.42f}, {0.72f, 0.38f, 0.56f}}};

constexpr double kPi = 3.14159265358979323846;
constexpr double kFieldOfView = 32.0 * kPi / 180.0;  // vertical
// In units of the camera's distance.
constexpr double kNear = 0.05, kFogStart = 1.5, kFogEnd = 7.0, kFar = 12.0, kShadows = 1.2;
constexpr double kReliefReach = 2.0;
constexpr int kMostLines = 30;  // per side

struct Camera {
  Vector target, position, forward, right, up;
  double distance;
};

// Distance from the camera to its target.
double distance_of(const View& view, double aspect) {
  const double height = std::max(view.top - view.bottom, (view.right - view.left) / aspect);
  return 0.5 * height / std::tan(0.5 * kFieldOfView);
}

// The middle of the view's rectangle. It follows the ground up and down.
Vector target_of(Scene scene, const View& view) {
  const mjModel& model = scene.model;
  const double* body = scene.data.xpos + 3 * view.body;  // 0 for the world
  const double across = 0.5 * (view.left + view.right), up = 0.5 * (view.bottom + view.top);
  if (view.from_above) return {body[0] + across, body[1] + up, 0.0};
  const bool has_relief =
      std::count(model.geom_type, model.geom_type + model.ngeom, int{mjGEOM_HFIELD}) > 0;
  return {body[0] + across, body[1], has_relief ? body[2] : up};
}

Camera camera_of(Scene scene, const View& view, double aspect) {
  const double turn = (view.from_above ? 90.0 : 118.0) * kPi / 180.0;
  const double down = (view.from_above ? 65.0 : 16.0) * kPi / 180.0;
  Camera camera{};
  camera.target = target_of(scene, view);
  camera.distance = distance_of(view, aspect);
  camera.forward = {std::cos(turn) * std::cos(down), std::sin(turn) * std::cos(down),
                    -std::sin(down)};
  camera.right = {std::sin(turn), -std::cos(turn), 0.0};
  camera.up = {std::cos(turn) * std::sin(down), std::sin(turn) * std::sin(down), std::cos(down)};
  for (std::size_t i = 0; i < 3; ++i)
    camera.position[i] = camera.target[i] - camera.distance * camera.forward[i];
  return camera;
}

void set_camera(const Camera& camera, mjvScene& stage) {
  mjvGLCamera eye{};
  for (std::size_t i = 0; i < 3; ++i) {
    eye.pos[i] = static_cast<float>(camera.position[i]);
    eye.forward[i] = static_cast<float>(camera.forward[i]);
    eye.up[i] = static_cast<float>(camera.up[i]);
  }
  eye.frustum_near = static_cast<float>(kNear * camera.distance);
  eye.frustum_far = static_cast<float>(2.0 * kFar * camera.distance);
  eye.frustum_top = static_cast<float>(kNear * camera.distance * std::tan(0.5 * kFieldOfView));
  eye.frustum_bottom = -eye.frustum_top;
  stage.camera[0] = stage.camera[1] = eye;
}

// Adds parallel light. Only objects around the camera's target cast shadows.
void add_light(const Camera& camera, Vector direction, float ambient, float diffuse, bool shadows,
               mjvScene& stage) {
  const double length = std::hypot(direction[0], direction[1], direction[2]);
  mjvLight light{};
  light.id = -1;
  light.type = mjLIGHT_DIRECTIONAL;
  light.castshadow = shadows;
  light.attenuation[0] = 1.0f;
  for (std::size_t i = 0; i < 3; ++i) {
    light.dir[i] = static_cast<float>(direction[i] / length);
    light.pos[i] =
        static_cast<float>(camera.target[i] - 2.0 * camera.distance * direction[i] / length);
    light.ambient[i] = ambient;
    light.diffuse[i] = diffuse;
    light.specular[i] = shadows ? 0.2f : 0.0f;
  }
  stage.lights[stage.nlight++] = light;
}

void set_lights(const Camera& camera, mjvScene& stage) {
  stage.nlight = 0;
  add_light(camera, {-0.35, 0.45, -1.0}, 0.0f, 0.50f, true, stage);
  add_light(camera, camera.forward, 0.38f, 0.22f, false, stage);
}

void paint(const Colour& colour, mjvGeom& geom) {
  geom.matid = geom.texid = -1;
  std::copy(colour.begin(), colour.end(), geom.rgba);
  geom.rgba[3] = 1.0f;
  geom.specular = geom.emission = geom.reflectance = 0.0f;
}

// A box whose axes are the columns of `turn`, [3, 3] row-major.
mjvGeom box(const Vector& middle, const double* turn, const Vector& size, const Colour& colour) {
  mjvGeom geom{};
  geom.type = mjGEOM_BOX;
  geom.objtype = mjOBJ_UNKNOWN;
  geom.category = mjCAT_DECOR;
  geom.dataid = geom.objid = geom.segid = -1;
  for (std::size_t i = 0; i < 3; ++i) {
    geom.pos[i] = static_cast<float>(middle[i]);
    geom.size[i] = static_cast<float>(size[i]);
  }
  for (int i = 0; i < 9; ++i) geom.mat[i] = static_cast<float>(turn[i]);
  paint(colour, geom);
  return geom;
}

void add(const mjvGeom& geom, mjvScene& stage) {
  if (stage.ngeom < stage.maxgeom) stage.geoms[stage.ngeom++] = geom;
}

void add_sky(const Camera& camera, mjvScene& stage) {
  double turn[9];
  Vector middle{};
  for (std::size_t i = 0; i < 3; ++i) {
    turn[3 * i] = camera.right[i];
    turn[3 * i + 1] = camera.up[i];
    turn[3 * i + 2] = -camera.forward[i];
    middle[i] = camera.position[i] + kFar * camera.distance * camera.forward[i];
  }
  const double side = kFar * camera.distance;
  add(box(middle, turn, {side, side, 0.01 * side}, kSky), stage);
}

// A plane's own coordinates; z points out of the plane.
class Ground {
 public:
  Ground(Scene scene, int geom)
      : at_(scene.data.geom_xpos + 3 * geom), turn_(scene.data.geom_xmat + 9 * geom) {}

  double along(int axis, const Vector& point) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < 3; ++i) sum += turn_[3 * i + axis] * (point[i] - at_[i]);
    return sum;
  }
  mjvGeom block(const Vector& middle, const Vector& size, const Colour& colour) const {
    return box(place(middle), turn_, size, colour);
  }

  // A beam between two points, half above the line between them.
  mjvGeom beam(const Vector& start, const Vector& end, double width, double height,
               const Colour& colour) const {
    const Vector way{end[0] - start[0], end[1] - start[1], end[2] - start[2]};
    const double length = std::hypot(way[0], way[1], way[2]), level = std::hypot(way[0], way[1]);
    const double own[9] = {way[0] / length,
                           -way[1] / level,
                           -way[0] * way[2] / (length * level),
                           way[1] / length,
                           way[0] / level,
                           -way[1] * way[2] / (length * level),
                           way[2] / length,
                           0.0,
                           level / length};
    double turn[9] = {};
    for (int i = 0; i < 9; ++i) {
      for (int k = 0; k < 3; ++k) turn[i] += turn_[3 * (i / 3) + k] * own[3 * k + i % 3];
    }
    const Vector middle{0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]),
                        0.5 * (start[2] + end[2])};
    return box(place(middle), turn, {0.5 * length, width, height}, colour);
  }

 private:
  Vector place(const Vector& own) const {
    Vector out{};
    for (std::size_t i = 0; i < 3; ++i) {
      out[i] = at_[i];
      for (std::size_t axis = 0; axis < 3; ++axis) out[i] += turn_[3 * i + axis] * own[axis];
    }
    return out;
  }

  const mjtNum *at_, *turn_;
};

// Replaces the plane by tiles as far as the camera sees, since light and fog are computed at
// corners. Lines go through whole numbers of the plane's own x and y.
void lay_ground(Scene scene, int geom, const Camera& camera, mjvScene& stage, mjvGeom& plane) {
  const Ground ground(scene, geom);
  const double spacing = camera.distance < 1.5 ? 0.1 : 1.0;
  const double piece = spacing * std::max(1.0, std::round(camera.distance / spacing));
  const int pieces = static_cast<int>(std::ceil(kFogEnd * camera.distance / piece));
  const double x = piece * std::round(ground.along(0, camera.target) / piece);
  const double y = piece * std::round(ground.along(1, camera.target) / piece);
  const double width = 0.004 * camera.distance, height = 0.0005 * camera.distance;
  const double half = 0.5 * piece, thick = 0.01 * camera.distance;
  plane =
      ground.block({x, y, -3.0 * thick}, {half, half, thick}, kGround);  // below the first piece
  const int lines = std::min(kMostLines, static_cast<int>(std::round(pieces * piece / spacing)));
  for (int i = -pieces; i < pieces; ++i) {
    const double across = x + piece * i + half;
    for (int k = -pieces; k < pieces; ++k)
      add(ground.block({across, y + piece * k + half, -thick}, {half, half, thick}, kGround),
          stage);
    for (int k = -lines; k <= lines; ++k) {
      const double line = spacing * k, along = piece * i + half;
      add(ground.block({x + line, y + along, height}, {width, half, height}, kLines), stage);
      add(ground.block({x + along, y + line, 0.5 * height}, {half, width, 0.5 * height}, kLines),
          stage);
    }
  }
}

// A height field on a regular grid.
class Relief {
 public:
  Relief(Scene scene, int geom) : ground_(scene, geom) {
    const mjModel& model = scene.model;
    const int field = model.geom_dataid[geom];
    rows_ = model.hfield_nrow[field];
    columns_ = model.hfield_ncol[field];
    size_ = model.hfield_size + 4 * field;
    heights_ = model.hfield_data + model.hfield_adr[field];
  }

  // Draws lines at whole numbers of its own x and y, from point to point, around the target.
  void draw_lines(const Camera& camera, mjvScene& stage) const {
    const double x = ground_.along(0, camera.target), y = ground_.along(1, camera.target);
    const double reach = kReliefReach * camera.distance;
    const int lines = static_cast<int>(reach);
    for (int i = -lines; i <= lines; ++i) {
      draw_line(0, std::round(x) + i, y, reach, camera, stage);
      draw_line(1, std::round(y) + i, x, reach, camera, stage);
    }
  }

 private:
  // Draws the line where x (axis 0) or y (axis 1) is `line`.
  void draw_line(int axis, double line, double middle, double reach, const Camera& camera,
                 mjvScene& stage) const {
    const double spacing =
        axis == 0 ? 2.0 * size_[1] / (rows_ - 1) : 2.0 * size_[0] / (columns_ - 1);
    const double first = middle - reach, width = 0.004 * camera.distance;
    const int pieces = static_cast<int>(2.0 * reach / spacing);
    Vector start = point(axis, line, first);
    for (int i = 1; i <= pieces; ++i) {
      const Vector end = point(axis, line, first + spacing * i);
      if (is_inside(start) && is_inside(end))
        add(ground_.beam(start, end, width, axis == 0 ? width / 3.0 : width / 4.0, kLines), stage);
      start = end;
    }
  }
  Vector point(int axis, double line, double along) const {
    const double x = axis == 0 ? line : along, y = axis == 0 ? along : line;
    return {x, y, height(x, y)};
  }
  bool is_inside(const Vector& point) const {
    return std::abs(point[0]) <= size_[0] && std::abs(point[1]) <= size_[1];
  }
  // Linear between points.
  double height(double x, double y) const {
    const double column = std::clamp((x + size_[0]) / (2.0 * size_[0]), 0.0, 1.0) * (columns_ - 1);
    const double row = std::clamp((y + size_[1]) / (2.0 * size_[1]), 0.0, 1.0) * (rows_ - 1);
    const int c = std::min(static_cast<int>(column), columns_ - 2);
    const int r = std::min(static_cast<int>(row), rows_ - 2);
    const auto corner = [&](int i, int k) {
      return size_[2] * static_cast<double>(heights_[(r + i) * columns_ + c + k]);
    };
    const double right = column - c, up = row - r;
    return (1.0 - up) * ((1.0 - right) * corner(0, 0) + right * corner(0, 1)) +
           up * ((1.0 - right) * corner(1, 0) + right * corner(1, 1));
  }

  Ground ground_;
  int rows_, columns_;
  const mjtNum* size_;
  const float* heights_;
};

bool has_no_colour(const mjModel& model, int geom) {
  const float* rgba = model.geom_rgba + 4 * geom;
  const auto grey = [](float part) { return part == 0.5f; };  // MuJoCo's default colour
  return model.geom_matid[geom] < 0 && std::all_of(rgba, rgba + 3, grey) && rgba[3] == 1.0f;
}

void colour_geom(const mjModel& model, mjvGeom& geom) {
  if (!has_no_colour(model, geom.objid)) return;
  const int body = model.geom_bodyid[geom.objid];
  if (geom.type == mjGEOM_HFIELD || body == 0) return paint(kGround, geom);
  const int limb = limb_of(model, body);
  const float shine = geom.specular;
  paint(model.body_parentid[limb] == 0 ? kTrunk : kLimbs[limb_number(model, limb) % kLimbs.size()],
        geom);
  geom.specular = shine;
}

}  // namespace

void prepare_stage(const View& view, double aspect, mjModel& model) {
  const double metre = 1.0 / model.stat.extent, distance = distance_of(view, aspect);
  model.vis.map.fogstart = static_cast<float>(kFogStart * distance * metre);
  model.vis.map.fogend = static_cast<float>(kFogEnd * distance * metre);
  model.vis.map.shadowclip = static_cast<float>(kShadows * distance * metre);
  std::copy(kSky.begin(), kSky.end(), model.vis.rgba.fog);
  model.vis.rgba.fog[3] = 1.0f;
  model.vis.quality.shadowsize = 2048;
  model.vis.quality.numquads = 1;  // per side of a box, enough for parallel light
}

double seen_side(const View& view, double aspect) {
  return 1.25 * kFogEnd * distance_of(view, aspect);
}

std::array<double, 3> seen_middle(Scene scene, const View& view, double aspect) {
  const Camera camera = camera_of(scene, view, aspect);
  const double ahead = 0.65 * kFogEnd * camera.distance;
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = camera.position[i] + ahead * camera.forward[i];
  return out;
}

void set_stage(Scene scene, const View& view, double aspect, mjvScene& stage) {
  const Camera camera = camera_of(scene, view, aspect);
  set_camera(camera, stage);
  set_lights(camera, stage);
  for (const mjtRndFlag off : {mjRND_SKYBOX, mjRND_HAZE, mjRND_REFLECTION}) stage.flags[off] = 0;
  stage.flags[mjRND_FOG] = 1;
  const int geoms = stage.ngeom;
  add_sky(camera, stage);  // first, since a fine height field's lines may use all room
  for (int i = 0; i < geoms; ++i) {
    mjvGeom& geom = stage.geoms[i];
    if (geom.objtype != mjOBJ_GEOM) continue;
    if (geom.type == mjGEOM_PLANE) {
      lay_ground(scene, geom.objid, camera, stage, geom);
      continue;
    }
    colour_geom(scene.model, geom);
    if (geom.type != mjGEOM_HFIELD) continue;
    geom.castshadow = 0;  // saves a pass over its many triangles
    Relief(scene, geom.objid).draw_lines(camera, stage);
  }
}

}  // namespace broadloom::mujoco
