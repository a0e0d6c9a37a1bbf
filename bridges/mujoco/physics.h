// Constants of the physics that may differ between worlds. Options set them, and strata can draw
// them for each episode.
#pragma once

#include <cstddef>
#include <vector>

#include "bridges/mujoco/library.h"
#include "broadloom/core/config_table.h"

namespace broadloom {
class Random;
}

namespace broadloom::mujoco {

// The defaults leave the model unchanged. A scale applies to all parts. A spread s also gives each
// part its own factor, uniform within 1 - s and 1 + s.
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
    v("friction_scale", friction_scale, scale, "Factor of the sliding friction of all geoms.");
    v("gain_scale", gain_scale, scale, "Factor of actuators' gains on controls and positions.");
    v("damping_scale", damping_scale, scale, "Factor of all joints' damping.");
    v("armature_scale", armature_scale, scale, "Factor of all joints' armature.");
    v("armature_spread", armature_spread, spread, "Each joint's own factor is within 1 +- this.");
    v("frictionloss_scale", frictionloss_scale, scale, "Factor of all joints' dry friction.");
    v("frictionloss_spread", frictionloss_spread, spread,
      "Each joint's own factor is within 1 +- this.");
    v("mass_scale", mass_scale, Range{1e-3, 1e3},
      "Factor of all bodies' masses; moments of inertia stay.");
    v("mass_spread", mass_spread, Range{0.0, 0.9}, "Each body's own factor is within 1 +- this.");
    v("root_mass", root_mass, Range{-1e3, 1e3}, "Mass added to the first body, kg.");
    const Range shift{-10.0, 10.0};
    v("root_com_x", root_com_x, shift, "Shift of the first body's centre of mass along x, m.");
    v("root_com_y", root_com_y, shift, "Shift along y, m.");
    v("root_com_z", root_com_z, shift, "Shift along z, m.");
    v("joint_offset", joint_offset, Range{0.0, 10.0},
      "Largest offset of each hinge or slide from its zero, drawn for each joint, rad or m.");
  }
  bool operator==(const PhysicsConstants&) const = default;
};

// The model fields that the constants change, as a row of numbers. As in MJX's randomisation,
// values that MuJoCo derives from them when it compiles a model (weights of constraints) stay
// unchanged.
class PhysicsFields {
 public:
  PhysicsFields() = default;  // none
  explicit PhysicsFields(const mjModel& model);

  std::size_t size() const { return places_.size(); }
  // Draws the parts' own factors and writes the row [size()] of an episode.
  void draw(const PhysicsConstants& constants, Random& random, double* row) const;
  // Writes the row to a copy of the original model.
  void set(const double* row, mjModel& model) const;
  // kInvalidConfig if a mass could become 0 with constants between these two.
  Status check(const PhysicsConstants& low, const PhysicsConstants& high) const;

 private:
  using Member = double PhysicsConstants::*;
  // Value: original * scale * (1 + spread u) + shift + wobble u, with u uniform within -1 and 1.
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
