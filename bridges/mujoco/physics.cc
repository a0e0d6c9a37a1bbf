#include "bridges/mujoco/physics.h"

#include <string>

#include "broadloom/core/random.h"

namespace broadloom::mujoco {

void PhysicsFields::add(const mjModel& model, mjtNum* mjModel::*field, std::size_t index,
                        Place place) {
  place.field = field;
  place.index = index;
  place.original = (model.*field)[index];
  places_.push_back(place);
}

PhysicsFields::PhysicsFields(const mjModel& model) {
  using C = PhysicsConstants;
  const auto each = [](auto count, const auto& call) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) call(i);
  };
  each(model.ngeom, [&](std::size_t g) {
    add(model, &mjModel::geom_friction, 3 * g, {.scale = &C::friction_scale});
  });
  each(model.nu, [&](std::size_t a) {
    add(model, &mjModel::actuator_gainprm, mjNGAIN * a, {.scale = &C::gain_scale});
    add(model, &mjModel::actuator_biasprm, mjNBIAS * a + 1, {.scale = &C::gain_scale});
  });
  each(model.nv, [&](std::size_t d) {
    add(model, &mjModel::dof_damping, d, {.scale = &C::damping_scale});
    add(model, &mjModel::dof_armature, d,
        {.scale = &C::armature_scale, .spread = &C::armature_spread});
    add(model, &mjModel::dof_frictionloss, d,
        {.scale = &C::frictionloss_scale, .spread = &C::frictionloss_spread});
  });
  each(model.nbody, [&](std::size_t b) {
    if (b == 0) return;  // the world
    add(model, &mjModel::body_mass, b,
        {.scale = &C::mass_scale,
         .spread = &C::mass_spread,
         .shift = b == 1 ? &C::root_mass : nullptr});
  });
  for (const auto& [axis, shift] : {std::pair<std::size_t, Member>{0, &C::root_com_x},
                                    std::pair<std::size_t, Member>{1, &C::root_com_y},
                                    std::pair<std::size_t, Member>{2, &C::root_com_z}}) {
    add(model, &mjModel::body_ipos, 3 + axis, {.shift = shift});
  }
  each(model.njnt, [&](std::size_t j) {
    const int type = model.jnt_type[j];
    if (type != mjJNT_HINGE && type != mjJNT_SLIDE) return;
    add(model, &mjModel::qpos0, static_cast<std::size_t>(model.jnt_qposadr[j]),
        {.wobble = &C::joint_offset});
  });
}

void PhysicsFields::draw(const PhysicsConstants& constants, Random& random, double* row) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const bool varies = place.spread != nullptr || place.wobble != nullptr;
    const double u = varies ? random.uniform(-1.0, 1.0) : 0.0;
    row[i] = place.original;
    if (place.scale != nullptr) row[i] *= constants.*place.scale;
    if (place.spread != nullptr) row[i] *= 1.0 + constants.*place.spread * u;
    if (place.shift != nullptr) row[i] += constants.*place.shift;
    if (place.wobble != nullptr) row[i] += constants.*place.wobble * u;
  }
}

void PhysicsFields::set(const double* row, mjModel& model) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    (model.*places_[i].field)[places_[i].index] = row[i];
  }
}

Status PhysicsFields::check(const PhysicsConstants& low, const PhysicsConstants& high) const {
  for (const Place& place : places_) {
    if (place.field != &mjModel::body_mass || place.shift == nullptr) continue;
    if (place.original == 0.0 && low.root_mass == 0.0) continue;  // a frame, and meant as one
    const double least = place.original * low.mass_scale * (1.0 - high.mass_spread) + low.root_mass;
    if (least > 0.0) continue;
    return invalid("root_mass: got " + broadloom::to_text(low.root_mass) +
                   ", which leaves the first body " + broadloom::to_text(least) +
                   " kg; expected more than nothing");
  }
  return {};
}

}  // namespace broadloom::mujoco
