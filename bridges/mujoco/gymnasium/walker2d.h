// Walker2d-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/walker2d_v5.py.
#pragma once

#include <vector>

#include "bridges/mujoco/gymnasium/runner.h"

namespace broadloom::mujoco {

class Walker2d final : public Runner {
 public:
  struct Options : RunnerOptions {
    double healthy_reward = 1.0;
    bool terminate_when_unhealthy = true;
    Interval healthy_z_range{0.8, 2.0}, healthy_angle_range{-1.0, 1.0};

    Options() : RunnerOptions{{"walker2d_v5.xml", 4}, 1.0, 1e-3, 5e-3} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_runner(v);
      v("healthy_reward", healthy_reward, "Reward of a step that ends healthy.");
      v("terminate_when_unhealthy", terminate_when_unhealthy,
        "Whether the episode ends when unhealthy.");
      v("healthy_z_range", healthy_z_range, "Healthy range of the torso's height, m.");
      v("healthy_angle_range", healthy_angle_range, "Healthy range of the torso's angle, rad.");
    }
  };

  static TaskFacts facts() {
    return {.id = "Walker2d-v5",
            .summary = "Walk forward on two legs, in a plane.",
            .upstream = gymnasium_file("walker2d_v5.py"),
            .sizes = {9, 9, 6, 8},
            .end_reasons = {"height", "angle"}};
  }

  explicit Walker2d(const Options& options)
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
  int illness(Scene scene) const {
    if (!options_.healthy_z_range.holds(scene.data.qpos[1])) return 0;
    return options_.healthy_angle_range.holds(scene.data.qpos[2]) ? kGoesOn : 1;
  }

  Options options_;
};

}  // namespace broadloom::mujoco
