// Common parts of Humanoid and HumanoidStandup of Gymnasium 1.4.0: initial states, observations and
// control costs.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

struct HumanoidOptions : ModelOptions {
  double ctrl_cost_weight = 0.1, reset_noise_scale = 1e-2;
  bool exclude_current_positions_from_observation = true;
  bool include_cinert_in_observation = true, include_cvel_in_observation = true;
  bool include_qfrc_actuator_in_observation = true, include_cfrc_ext_in_observation = true;

  template <class Visitor>
  void visit_body(Visitor&& v) {
    visit_model(v);
    v("ctrl_cost_weight", ctrl_cost_weight, "Weight of the cost of the squared controls.");
    v("reset_noise_scale", reset_noise_scale, Range{0.0, 1e6},
      "Range of uniform initial positions and speeds.");
    v("exclude_current_positions_from_observation", exclude_current_positions_from_observation,
      "Whether to leave x and y out of observations.");
    v("include_cinert_in_observation", include_cinert_in_observation,
      "Whether observations include the bodies' inertias about the centre of mass.");
    v("include_cvel_in_observation", include_cvel_in_observation,
      "Whether observations include the bodies' speeds about the centre of mass.");
    v("include_qfrc_actuator_in_observation", include_qfrc_actuator_in_observation,
      "Whether observations include the actuators' forces.");
    v("include_cfrc_ext_in_observation", include_cfrc_ext_in_observation,
      "Whether observations include contact forces.");
  }
};

class HumanoidBody : public Task {
 public:
  int observation_size(const Sizes& sizes) const override {
    const auto share = [](bool seen, int numbers) { return seen ? numbers : 0; };
    const int others = sizes.nbody - 1;  // all but the world
    return sizes.nq + sizes.nv - skipped() +
           share(seen_.include_cinert_in_observation, 10 * others) +
           share(seen_.include_cvel_in_observation, 6 * others) +
           share(seen_.include_qfrc_actuator_in_observation, sizes.nv - kRootSpeeds) +
           share(seen_.include_cfrc_ext_in_observation, 6 * others);
  }

  void place(Scene scene, Own, Random& random) const override {
    add_uniform(scene.data.qpos, scene.model.nq, seen_.reset_noise_scale, random);
    add_uniform(scene.data.qvel, scene.model.nv, seen_.reset_noise_scale, random);
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    const mjData& d = scene.data;
    const int others = scene.model.nbody - 1;
    out.add(d.qpos + skipped(), scene.model.nq - skipped());
    out.add(d.qvel, scene.model.nv);
    if (seen_.include_cinert_in_observation) out.add(d.cinert + 10, 10 * others);
    if (seen_.include_cvel_in_observation) out.add(d.cvel + 6, 6 * others);
    if (seen_.include_qfrc_actuator_in_observation) {
      out.add(d.qfrc_actuator + kRootSpeeds, scene.model.nv - kRootSpeeds);
    }
    if (seen_.include_cfrc_ext_in_observation) out.add(d.cfrc_ext + 6, 6 * others);
  }

 protected:
  static constexpr int kRootSpeeds = 6;  // of the free joint

  explicit HumanoidBody(HumanoidOptions options) : seen_(std::move(options)) {}

  // The cost of the actuators' controls, in double.
  double control_cost(Scene scene) const {
    const auto count = static_cast<std::size_t>(scene.model.nu);
    return seen_.ctrl_cost_weight * sum_of_squares(scene.data.ctrl, count);
  }
  double contact_cost(Scene scene, double weight, const Interval& range) const {
    const auto count = static_cast<std::size_t>(6 * scene.model.nbody);
    return clipped(weight * sum_of_squares(scene.data.cfrc_ext, count), range.low, range.high);
  }

 private:
  int skipped() const { return seen_.exclude_current_positions_from_observation ? 2 : 0; }

  HumanoidOptions seen_;
};

}  // namespace broadloom::mujoco
