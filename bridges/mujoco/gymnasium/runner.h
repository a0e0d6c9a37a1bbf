// Common parts of Hopper, Walker2d, HalfCheetah and Swimmer of Gymnasium 1.4.0. They reward speed
// along x and small actions.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

struct RunnerOptions : ModelOptions {
  double forward_reward_weight = 1.0, ctrl_cost_weight = 0.0, reset_noise_scale = 0.0;
  bool exclude_current_positions_from_observation = true;

  template <class Visitor>
  void visit_runner(Visitor&& v) {
    visit_model(v);
    v("forward_reward_weight", forward_reward_weight, "Weight of the forward speed, m/s.");
    v("ctrl_cost_weight", ctrl_cost_weight, "Weight of the cost of the squared actions.");
    v("reset_noise_scale", reset_noise_scale, Range{0.0, 1e6},
      "Scale of the noise on initial positions and speeds.");
    v("exclude_current_positions_from_observation", exclude_current_positions_from_observation,
      "Whether to leave the position along the ground out of observations.");
  }
};

class Runner : public Task {
 public:
  Status bind(const Model& model) override {
    dt_ = seconds_per_step(model.get(), options_.frame_skip);
    return need(model.get(), traits_.needed_positions, 1);
  }
  int observation_size(const Sizes& sizes) const override {
    return sizes.nq + sizes.nv - skipped();
  }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"forward_speed", options_.forward_reward_weight},
            {"squared_actions", -options_.ctrl_cost_weight}};
  }

  void place(Scene scene, Own, Random& random) const override {
    add_uniform(scene.data.qpos, scene.model.nq, options_.reset_noise_scale, random);
    const auto add_to_speeds = traits_.normal_speeds ? add_normal : add_uniform;
    add_to_speeds(scene.data.qvel, scene.model.nv, options_.reset_noise_scale, random);
  }

  int kept_size() const override { return 1; }
  void keep(Scene scene, double* kept) const override { kept[0] = scene.data.qpos[0]; }

  Judgement judge(Scene scene, const float* action, Own own) const override {
    const double forward = forward_reward(scene, own.kept), effort = control_cost(scene, action);
    own.paid.add({forward, -effort});
    return {forward - effort};
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    const double most = traits_.most_speed;
    out.add(scene.data.qpos + skipped(), scene.model.nq - skipped());
    out.add_clipped(scene.data.qvel, scene.model.nv, -most, most);
  }

 protected:
  struct Traits {
    int along_ground = 1;        // number of first positions, along the ground
    int needed_positions = 1;    // least number in the model
    bool normal_speeds = false;  // whether initial speeds are normal, not uniform
    double most_speed =
        std::numeric_limits<double>::infinity();  // observed speeds are clipped to it
  };

  Runner(RunnerOptions options, const Traits& traits)
      : options_(std::move(options)), traits_(traits) {}

  double forward_reward(Scene scene, const double* kept) const {
    return options_.forward_reward_weight * ((scene.data.qpos[0] - kept[0]) / dt_);
  }
  float control_cost(Scene scene, const float* action) const {
    return action_cost(options_.ctrl_cost_weight, action, scene.model.nu);
  }

 private:
  int skipped() const {
    return options_.exclude_current_positions_from_observation ? traits_.along_ground : 0;
  }

  RunnerOptions options_;
  Traits traits_;
  double dt_ = 0.0;
};

}  // namespace broadloom::mujoco
