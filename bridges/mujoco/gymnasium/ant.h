// Ant-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/ant_v5.py.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

class Ant final : public Task {
 public:
  struct Options : ModelOptions {
    double forward_reward_weight = 1.0, ctrl_cost_weight = 0.5, contact_cost_weight = 5e-4;
    double healthy_reward = 1.0;
    std::string main_body = "1";
    bool terminate_when_unhealthy = true;
    Interval healthy_z_range{0.2, 1.0}, contact_force_range{-1.0, 1.0};
    double reset_noise_scale = 0.1;
    bool exclude_current_positions_from_observation = true, include_cfrc_ext_in_observation = true;

    Options() : ModelOptions{"ant.xml", 5} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_model(v);
      v("forward_reward_weight", forward_reward_weight, "Weight of the forward speed, m/s.");
      v("ctrl_cost_weight", ctrl_cost_weight, "Weight of the cost of the squared actions.");
      v("contact_cost_weight", contact_cost_weight,
        "Weight of the cost of the squared contact forces.");
      v("healthy_reward", healthy_reward, "Reward of a step that ends healthy.");
      v("main_body", main_body, "Number or name of the body whose speed is rewarded.");
      v("terminate_when_unhealthy", terminate_when_unhealthy,
        "Whether the episode ends when unhealthy.");
      v("healthy_z_range", healthy_z_range,
        "Healthy range of the torso's height, m, ends included.");
      v("contact_force_range", contact_force_range, "Range to clip contact forces to, N.");
      v("reset_noise_scale", reset_noise_scale, Range{0.0, 1e6},
        "Range of uniform initial positions, standard deviation of normal initial speeds.");
      v("exclude_current_positions_from_observation", exclude_current_positions_from_observation,
        "Whether to leave x and y out of observations.");
      v("include_cfrc_ext_in_observation", include_cfrc_ext_in_observation,
        "Whether observations include contact forces.");
    }
  };

  static TaskFacts facts() {
    return {.id = "Ant-v5",
            .summary = "Run forward on four legs.",
            .upstream = gymnasium_file("ant_v5.py"),
            .sizes = {15, 14, 8, 14},
            .reward_threshold = 6000.0,
            .end_reasons = {"height", "not_finite"}};
  }

  explicit Ant(const Options& options) : options_(options) {}

  Status bind(const Model& model) override {
    dt_ = seconds_per_step(model.get(), options_.frame_skip);
    BROADLOOM_TRY(need(model.get(), 3, 1));
    int number = 0;
    if (!broadloom::parse_text(options_.main_body, number).ok()) {
      return find_body(model, options_.main_body, main_body_);
    }
    main_body_ = number;
    if (number >= 0 && number < model.get().nbody) return {};
    return invalid("main_body: got " + options_.main_body + ", expected a body's number, 0 to " +
                   std::to_string(model.get().nbody - 1) + ", or its name");
  }
  int observation_size(const Sizes& sizes) const override {
    const int forces = options_.include_cfrc_ext_in_observation ? 6 * (sizes.nbody - 1) : 0;
    return sizes.nq + sizes.nv - skipped() + forces;
  }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"forward_speed", options_.forward_reward_weight},
            {"healthy", options_.healthy_reward},
            {"squared_actions", -options_.ctrl_cost_weight},
            {"squared_contact_forces", -options_.contact_cost_weight}};
  }

  void place(Scene scene, Own, Random& random) const override {
    add_uniform(scene.data.qpos, scene.model.nq, options_.reset_noise_scale, random);
    add_normal(scene.data.qvel, scene.model.nv, options_.reset_noise_scale, random);
  }

  // After a step of RK4, body positions come from its last stage and do not follow from qpos.
  int kept_size() const override { return 1; }
  void keep(Scene scene, double* kept) const override { kept[0] = body_at(scene, main_body_)[0]; }

  Judgement judge(Scene scene, const float* action, Own own) const override {
    const double speed = (body_at(scene, main_body_)[0] - own.kept[0]) / dt_;
    const int ill = illness(scene);
    const double healthy = ill == kGoesOn ? options_.healthy_reward : 0.0;
    const double forward = speed * options_.forward_reward_weight;
    const double effort = action_cost(options_.ctrl_cost_weight, action, scene.model.nu);
    const double contact = contact_cost(scene);
    own.paid.add({forward, healthy, -effort, -contact});
    return {forward + healthy - (effort + contact),
            options_.terminate_when_unhealthy ? ill : kGoesOn};
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    out.add(scene.data.qpos + skipped(), scene.model.nq - skipped());
    out.add(scene.data.qvel, scene.model.nv);
    if (!options_.include_cfrc_ext_in_observation) return;
    const Interval& range = options_.contact_force_range;
    out.add_clipped(scene.data.cfrc_ext + 6, 6 * (scene.model.nbody - 1), range.low, range.high);
  }

 private:
  int skipped() const { return options_.exclude_current_positions_from_observation ? 2 : 0; }

  double contact_cost(Scene scene) const {
    const double* forces = scene.data.cfrc_ext;
    const Interval& range = options_.contact_force_range;
    const auto squared = [&](std::size_t i) {
      const double force = clipped(forces[i], range.low, range.high);
      return force * force;
    };
    const auto count = static_cast<std::size_t>(6 * scene.model.nbody);
    return options_.contact_cost_weight * numpy_sum<double>(0, count, squared);
  }

  int illness(Scene scene) const {
    const bool finite =
        are_finite(scene.data.qpos, scene.model.nq) && are_finite(scene.data.qvel, scene.model.nv);
    if (!finite) return 1;
    const double height = scene.data.qpos[2];
    const Interval& range = options_.healthy_z_range;
    return range.low <= height && height <= range.high ? kGoesOn : 0;
  }

  Options options_;
  double dt_ = 0.0;
  int main_body_ = 1;
};

}  // namespace broadloom::mujoco
