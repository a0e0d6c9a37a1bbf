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
constexpr double kFieldOfView = 32.0 * kPi / 180.0;  // upwards
// Multiples of the camera's distance.
constexpr double kNear = 0.05, kFogStart = 1.5, kFogEnd = 9.0, kFar = 12.0, kShadows = 1.2;
constexpr int kMostLines = 50;  // on either side

struct Camera {
  Vector target, position, forward, right, up;
  double distance;
};

Camera camera_of(Scene scene, const View& view, double aspect) {
  const double turn = (view.from_above ? 90.0 : 118.0) * kPi / 180.0;
  const double down = (view.from_above ? 60.0 : 16.0) * kPi / 180.0;
  const double height = std::max(view.top - view.bottom, (view.right - view.left) / aspect) *
                        (view.from_above ? 0.9 : 1.0);
  const double* body = scene.data.xpos + 3 * view.body;
  Camera camera{};
  camera.target = {view.body > 0 ? body[0] : 0.0, view.body > 0 ? body[1] : 0.0,
                   view.from_above ? 0.0 : 0.5 * (view.bottom + view.top)};
  for (int geom = 0; geom < scene.model.ngeom; ++geom) {  // ground that goes up and down
    if (scene.model.geom_type[geom] == mjGEOM_HFIELD) camera.target[2] = body[2];
  }
  camera.distance = 0.5 * height / std::tan(0.5 * kFieldOfView);
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

// Parallel light; of what casts shadows, those around the camera's target.
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

void set_lights(const Camera& camera, mjvScene& stage, mjrContext& context) {
  stage.nlight = 0;
  add_light(camera, {-0.35, 0.45, -1.0}, 0.30f, 0.50f, true, stage);
  add_light(camera, camera.forward, 0.10f, 0.22f, false, stage);
  context.shadowClip = static_cast<float>(kShadows * camera.distance);
}

void set_fog(const Camera& camera, mjvScene& stage, mjrContext& context) {
  for (const mjtRndFlag off : {mjRND_SKYBOX, mjRND_HAZE, mjRND_REFLECTION}) stage.flags[off] = 0;
  stage.flags[mjRND_FOG] = 1;
  std::copy(kSky.begin(), kSky.end(), context.fogRGBA);
  context.fogRGBA[3] = 1.0f;
  context.fogStart = static_cast<float>(kFogStart * camera.distance);
  context.fogEnd = static_cast<float>(kFogEnd * camera.distance);
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

// A plane's own coordinates, whose z axis points out of it.
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
    Vector place{};
    for (std::size_t i = 0; i < 3; ++i) {
      place[i] = at_[i];
      for (std::size_t axis = 0; axis < 3; ++axis) place[i] += turn_[3 * i + axis] * middle[axis];
    }
    return box(place, turn_, size, colour);
  }

 private:
  const mjtNum *at_, *turn_;
};

// In the place of the plane; lines on it go through whole numbers of its own x and y.
void lay_ground(Scene scene, int geom, const Camera& camera, mjvScene& stage, mjvGeom& plane) {
  const Ground ground(scene, geom);
  const double x = ground.along(0, camera.target), y = ground.along(1, camera.target);
  const double side = kFar * camera.distance, thick = 0.01 * camera.distance;
  plane = ground.block({x, y, -thick}, {side, side, thick}, kGround);
  const double spacing = camera.distance < 1.5 ? 0.1 : 1.0;
  const int lines = std::min(kMostLines, static_cast<int>(kFogEnd * camera.distance / spacing));
  const double width = 0.004 * camera.distance, height = 0.0005 * camera.distance;
  for (int i = -lines; i <= lines; ++i) {
    const double across = spacing * (std::floor(x / spacing) + i);
    const double up = spacing * (std::floor(y / spacing) + i);
    add(ground.block({across, y, height}, {width, side, height}, kLines), stage);
    add(ground.block({x, up, height}, {side, width, height}, kLines), stage);
  }
}

bool has_no_colour(const mjModel& model, int geom) {
  const float* rgba = model.geom_rgba + 4 * geom;
  const auto grey = [](float part) { return part == 0.5f; };  // what a file that names none gets
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

void set_stage(Scene scene, const View& view, double aspect, mjvScene& stage, mjrContext& context) {
  const Camera camera = camera_of(scene, view, aspect);
  set_camera(camera, stage);
  set_lights(camera, stage, context);
  set_fog(camera, stage, context);
  const int geoms = stage.ngeom;
  for (int i = 0; i < geoms; ++i) {
    mjvGeom& geom = stage.geoms[i];
    if (geom.objtype != mjOBJ_GEOM) continue;
    if (geom.type != mjGEOM_PLANE) {
      colour_geom(scene.model, geom);
      continue;
    }
    lay_ground(scene, geom.objid, camera, stage, geom);
  }
  add_sky(camera, stage);
}

}  // namespace broadloom::mujoco
