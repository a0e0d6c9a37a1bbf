// Contacts of feet with the quadruped's ground, compared with a plane and with a slow search for
// the nearest point.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/quadruped/scene.h"
#include "bridges/mujoco/quadruped/terrain.h"
#include "bridges/mujoco/simulation.h"
#include "broadloom/core/random.h"

namespace broadloom::mujoco {
namespace {

const std::vector<std::string> kFeet = {"FR", "FL", "RR", "RL"};
constexpr double kRadius = 0.023;

std::shared_ptr<Model> scene_on(const Terrain* terrain) {
  Result<std::shared_ptr<Model>> model = read_scene("quadruped.xml", terrain, kFeet);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.take();
}

void stand_at_home(const Model& model, Simulation& simulation) {
  simulation.reset();
  const Scene scene = simulation.scene();
  const double* home = scene.model.key_qpos + model.find(mjOBJ_KEY, "home") * scene.model.nq;
  std::copy_n(home, scene.model.nq, scene.data.qpos);
}

// A robot treads on the spot for half a second, on both kinds of ground.
TEST(GroundContacts, EqualThoseOfAPlaneOnLevelGround) {
  const Terrain level({.columns = {"flat"}, .levels = 1});
  const std::shared_ptr<Model> on_plane = scene_on(nullptr), on_field = scene_on(&level);
  const Lease plane = on_plane->lease(), field = on_field->lease();
  stand_at_home(*on_plane, *plane);
  stand_at_home(*on_field, *field);
  int touched = 0;
  for (int t = 0; t < 125; ++t) {
    for (Simulation* one : {&*plane, &*field}) {
      const Scene scene = one->scene();
      const double* home = scene.model.key_qpos + on_plane->find(mjOBJ_KEY, "home") * 19;
      for (int j = 0; j < 12; ++j) {
        const bool first = j / 3 == 0 || j / 3 == 3;  // a diagonal pair of legs
        scene.data.ctrl[j] = home[7 + j] + 0.1 * std::sin(0.05 * t + (first ? 0.0 : 3.14));
      }
      ASSERT_EQ(one->step(1), Health::kFine);
    }
    const mjData &a = plane->scene().data, &b = field->scene().data;
    ASSERT_EQ(a.ncon, b.ncon) << "step " << t;
    touched += b.ncon;
    for (int c = 0; c < b.ncon; ++c) EXPECT_NEAR(b.contact[c].frame[2], 1.0, 1e-12);
    for (int i = 0; i < 19; ++i) ASSERT_NEAR(b.qpos[i], a.qpos[i], 1e-7) << t << ", " << i;
  }
  EXPECT_GT(touched, 125);
}

using Vector = std::array<double, 3>;

double distance(const Vector& a, const Vector& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// Distance to the surface around (x, y), by points 1 mm apart on its triangles.
double nearest_point(const Terrain& terrain, const Vector& center) {
  constexpr double kSpacing = Terrain::kSpacing;
  const auto height = [&](int c, int r) {
    const std::size_t place = static_cast<std::size_t>(r) * terrain.row_length() + c;
    return static_cast<double>(terrain.heights()[place]);
  };
  double nearest = 1e9;
  for (double x = center[0] - 0.04; x < center[0] + 0.04; x += 0.001) {
    for (double y = center[1] - 0.04; y < center[1] + 0.04; y += 0.001) {
      const double right = (x + terrain.half_x()) / kSpacing,
                   up = (y + terrain.half_y()) / kSpacing;
      const int c = static_cast<int>(right), r = static_cast<int>(up);
      const double u = right - c, v = up - r, here = height(c, r), far = height(c + 1, r + 1);
      const double z = u > v ? here + (height(c + 1, r) - here) * (u - v) + (far - here) * v
                             : here + (height(c, r + 1) - here) * (v - u) + (far - here) * u;
      nearest = std::min(nearest, distance(center, {x, y, z}));
    }
  }
  return nearest;
}

// Moves the robot until the foot's middle is at `target`.
void move_foot(Simulation& simulation, int foot, const Vector& target) {
  const Scene scene = simulation.scene();
  simulation.place_bodies();
  for (std::size_t i = 0; i < 3; ++i)
    scene.data.qpos[i] += target[i] - scene.data.geom_xpos[3 * foot + static_cast<int>(i)];
  ASSERT_EQ(simulation.forward(), Health::kFine);
}

// No contact is nearer than the surface, and one is as near. The exception is an edge beside a face
// that the foot stands on.
TEST(GroundContacts, AreAtTheNearestPointOfTheSurface) {
  const Terrain terrain({.columns = {"rough", "stairs", "discrete"}, .levels = 2, .seed = 5});
  const std::shared_ptr<Model> model = scene_on(&terrain);
  const Lease simulation = model->lease();
  const int foot = model->find(mjOBJ_GEOM, "FR");
  Random random(11, Purpose::kUser, 0, 0);
  int touching = 0, exact = 0;
  for (int i = 0; i < 400; ++i) {
    stand_at_home(*model, *simulation);
    const double x = terrain.tile_x(i % 3) + random.uniform(-3.9, 3.9);
    const double y = terrain.tile_y(1) + random.uniform(-3.9, 3.9);
    const Vector center{x, y, terrain.height(x, y) + random.uniform(0.015, 0.04)};
    move_foot(*simulation, foot, center);
    const mjData& data = simulation->scene().data;
    double least = 1e9;
    for (int c = 0; c < data.ncon; ++c) {
      const mjContact& contact = data.contact[c];
      if (contact.geom[1] != foot) continue;
      least = std::min(least, contact.dist);
      EXPECT_GT(contact.frame[2], 0.0) << "it pushes upwards";
      EXPECT_NEAR(std::hypot(contact.frame[0], contact.frame[1], contact.frame[2]), 1.0, 1e-12);
    }
    const double gap = nearest_point(terrain, center) - kRadius;  // at most 1 mm too large
    if (gap < -0.001) {
      ++touching;
      EXPECT_LT(least, 0.0) << i;
    }
    if (least > 1e8) continue;
    EXPECT_GT(least, gap - 0.001) << i;
    exact += std::fabs(least - gap) < 0.001 ? 1 : 0;
  }
  EXPECT_GT(touching, 50);
  EXPECT_GT(exact, touching * 8 / 10);
}

// Contacts lift a foot that is below the surface.
TEST(GroundContacts, LiftFeetBelowTheSurface) {
  const Terrain terrain({.columns = {"rough", "stairs", "steps", "discrete"}, .seed = 5});
  const std::shared_ptr<Model> model = scene_on(&terrain);
  const Lease simulation = model->lease();
  const int foot = model->find(mjOBJ_GEOM, "FR");
  Random random(12, Purpose::kUser, 0, 0);
  for (int i = 0; i < 3000; ++i) {
    stand_at_home(*model, *simulation);
    const double x = terrain.tile_x(i % 4) + random.uniform(-3.9, 3.9);
    const double y = terrain.tile_y(8) + random.uniform(-3.9, 3.9);
    move_foot(*simulation, foot, {x, y, terrain.height(x, y) - random.uniform(0.0005, 0.02)});
    const mjData& data = simulation->scene().data;
    int lifts = 0;
    for (int c = 0; c < data.ncon; ++c) {
      const mjContact& contact = data.contact[c];
      if (contact.geom[1] != foot) continue;
      lifts += contact.dist < 0.0 && contact.frame[2] > 0.0 ? 1 : 0;
    }
    ASSERT_GT(lifts, 0) << i << " at " << x << ", " << y;
  }
}

// A ball on a corner of four cells of another height field.
TEST(GroundContacts, StayMujocosOnOtherHeightFields) {
  const Terrain level({.columns = {"flat"}, .levels = 1});
  (void)scene_on(&level);
  constexpr char kBall[] =
      "<mujoco><asset><hfield name='f' nrow='5' ncol='5' size='1 1 .1 .1'/></asset><worldbody>"
      "<geom name='mine' type='hfield' hfield='f'/><body pos='0 0 .04'><joint name='up' "
      "type='slide' "
      "axis='0 0 1'/><geom name='ball' size='.05'/></body></worldbody>"
      "<actuator><motor joint='up'/></actuator></mujoco>";
  const auto contacts = [&](const std::string& xml) {
    const Result<std::shared_ptr<Model>> model = Model::parse(xml, "ball.xml");
    EXPECT_TRUE(model.ok()) << model.status().message();
    const Lease simulation = model.value()->lease();
    simulation->reset();
    EXPECT_EQ(simulation->forward(), Health::kFine);
    return simulation->scene().data.ncon;
  };
  std::string ground(kBall);
  ground.replace(ground.find("'mine'"), 6, "'" + scene_name("floor") + "'");
  EXPECT_GT(contacts(kBall), 1);
  EXPECT_EQ(contacts(ground), 1);
}

}  // namespace
}  // namespace broadloom::mujoco
