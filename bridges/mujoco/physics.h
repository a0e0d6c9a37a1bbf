// Constants of the physics that may differ from world to world: options set them, and strata draw
// them anew for each episode.
#pragma once

#include <cstddef>
#include <vector>

#include "bridges/mujoco/library.h"
#include "broadloom/core/config_table.h"

namespace broadloom {
class Random;
}

namespace broadloom::mujoco {

// As they stand, the model's own. A spread s gives each part a factor of its own, uniform within
// 1 - s and 1 + s, beside the scale that all parts share.
struct PhysicsConstants {
  double friction_scale = 1.0, gain_scale = 1.0, damping_scale = 1.0;
  double armature_scale = 1.0, armature_spread = 0.0;
  double frictionloss_scale = 1.0, frictionloss_spread = 0.0;
  double mass_scale = 1.0, mass_spread = 0.0;
  double root_mass = 0.0, root_com_x = 0.0, root_com_y = 0.0, root_com_z = 0.0;
  double joint_offset = 0.0;

  template <class Visitor>
  void visit_fields(Visitor&& v) {
    const Range scale{0.0, 1e3}, spread{0.0, 1.0};
    v("friction_scale", friction_scale, scale, "Of the sliding friction of all geoms.");
    v("gain_scale", gain_scale, scale, "Of what actuators make of a control or a position.");
    v("damping_scale", damping_scale, scale, "Of all joints' damping.");
    v("armature_scale", armature_scale, scale, "Of all joints' armature.");
    v("armature_spread", armature_spread, spread, "Each joint's own factor is 1 +- this.");
    v("frictionloss_scale", frictionloss_scale, scale, "Of all joints' dry friction.");
    v("frictionloss_spread", frictionloss_spread, spread, "Each joint's own factor is 1 +- this.");
    v("mass_scale", mass_scale, Range{1e-3, 1e3},
      "Of all bodies' masses; moments of inertia stay.");
    v("mass_spread", mass_spread, Range{0.0, 0.9}, "Each body's own factor is 1 +- this.");
    v("root_mass", root_mass, Range{-1e3, 1e3}, "Mass on the first body besides, kg.");
    const Range shift{-10.0, 10.0};
    v("root_com_x", root_com_x, shift, "How far the first body's centre of mass is off, m.");
    v("root_com_y", root_com_y, shift, "Likewise along y.");
    v("root_com_z", root_com_z, shift, "Likewise along z.");
    v("joint_offset", joint_offset, Range{0.0, 10.0},
      "Each hinge or slide stands off its zero by its own share of +- this, rad or m.");
  }
  bool operator==(const PhysicsConstants&) const = default;
};

// The fields of a model that they come to, as a row of numbers. As in MJX's randomisation, what
// MuJoCo derives from them when it compiles a model (weights of constraints) stays.
class PhysicsFields {
 public:
  PhysicsFields() = default;  // none
  explicit PhysicsFields(const mjModel& model);

  std::size_t size() const { return places_.size(); }
  // The row [size()] of an episode, whose parts' own factors are drawn.
  void draw(const PhysicsConstants& constants, Random& random, double* row) const;
  // model: a copy of the one that this was made of.
  void set(const double* row, mjModel& model) const;
  // kInvalidConfig where a mass may come to nothing with constants between these two.
  Status check(const PhysicsConstants& low, const PhysicsConstants& high) const;

 private:
  using Member = double PhysicsConstants::*;
  // original * scale * (1 + spread u) + shift + wobble u, u uniform within -1 and 1.
  struct Place {
    Member scale = nullptr, spread = nullptr, shift = nullptr, wobble = nullptr;  // null: none
    mjtNum* mjModel::*field = nullptr;
    std::size_t index = 0;
    double original = 0.0;
  };
  void add(const mjModel& model, mjtNum* mjModel::*field, std::size_t index, Place place);

  std::vector<Place> places_;
};

}  // namespace broadloom::mujoco
