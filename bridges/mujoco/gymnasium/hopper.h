// Hopper-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/hopper_v5.py.
#pragma once

#include <algorithm>
#include <vector>

#include "bridges/mujoco/gymnasium/runner.h"

namespace broadloom::mujoco {

class Hopper final : public Runner {
 public:
  struct Options : RunnerOptions {
    double healthy_reward = 1.0;
    bool terminate_when_unhealthy = true;
    Interval healthy_state_range{-100.0, 100.0}, healthy_z_range{0.7},
        healthy_angle_range{-0.2, 0.2};

    Options() : RunnerOptions{{"hopper.xml", 4}, 1.0, 1e-3, 5e-3} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_runner(v);
      v("healthy_reward", healthy_reward, "Reward of a step that ends healthy.");
      v("terminate_when_unhealthy", terminate_when_unhealthy,
        "Whether the episode ends when unhealthy.");
      v("healthy_state_range", healthy_state_range,
        "Healthy range of speeds, and of positions except x and height.");
      v("healthy_z_range", healthy_z_range, "Healthy range of the torso's height, m.");
      v("healthy_angle_range", healthy_angle_range, "Healthy range of the torso's angle, rad.");
    }
  };

  static TaskFacts facts() {
    return {.id = "Hopper-v5",
            .summary = "Hop forward on one leg.",
            .upstream = gymnasium_file("hopper_v5.py"),
            .sizes = {6, 6, 3, 5},
            .reward_threshold = 3800.0,
            .end_reasons = {"height", "angle", "state"}};
  }

  explicit Hopper(const Options& options)
      : Runner(options, {.needed_positions = 3, .most_speed = 10.0}), options_(options) {}

  std::vector<RewardTerm> reward_terms() const override {
    return with_healthy(Runner::reward_terms(), options_.healthy_reward);
  }

  Judgement judge(Scene scene, const float* action, Own own) const override {
    const int ill = illness(scene);
    const double healthy = ill == kGoesOn ? options_.healthy_reward : 0.0;
    const double forward = forward_reward(scene, own.kept), effort = control_cost(scene, action);
    own.paid.add({forward, healthy, -effort});
    return {forward + healthy - effort, options_.terminate_when_unhealthy ? ill : kGoesOn};
  }

 private:
  // Index of the reason; kGoesOn if healthy.
  int illness(Scene scene) const {
    const double *q = scene.data.qpos, *v = scene.data.qvel;
    const auto holds = [this](double x) { return options_.healthy_state_range.holds(x); };
    if (!options_.healthy_z_range.holds(q[1])) return 0;
    if (!options_.healthy_angle_range.holds(q[2])) return 1;
    const bool held =
        std::all_of(q + 2, q + scene.model.nq, holds) && std::all_of(v, v + scene.model.nv, holds);
    return held ? kGoesOn : 2;
  }

  Options options_;
};

}  // namespace broadloom::mujoco
