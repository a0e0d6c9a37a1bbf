// Reacher-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/reacher_v5.py.
#pragma once

#include <cmath>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

class Reacher final : public Task {
 public:
  struct Options : ModelOptions {
    double reward_dist_weight = 1.0, reward_control_weight = 1.0;

    Options() : ModelOptions{"reacher.xml", 2} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_model(v);
      v("reward_dist_weight", reward_dist_weight, "Weight of the distance to the target, m.");
      v("reward_control_weight", reward_control_weight, "Weight of the squared actions.");
    }
  };

  static TaskFacts facts() {
    return {.id = "Reacher-v5",
            .summary = "Bring the tip of an arm with two joints to a target.",
            .upstream = gymnasium_file("reacher_v5.py"),
            .sizes = {4, 4, 2, 5},
            .max_episode_steps = 50,
            .reward_threshold = -3.75,
            .view = {.from_above = true,
                     .body = 0,
                     .left = -0.32,
                     .bottom = -0.32,
                     .right = 0.32,
                     .top = 0.32}};
  }

  explicit Reacher(const Options& options) : options_(options) {}

  Status bind(const Model& model) override {
    BROADLOOM_TRY(need(model.get(), 4, 4));
    BROADLOOM_TRY(find_body(model, "fingertip", fingertip_));
    return find_body(model, "target", target_);
  }
  int observation_size(const Sizes& sizes) const override { return sizes.nq + 6; }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"distance", -options_.reward_dist_weight},
            {"squared_actions", -options_.reward_control_weight}};
  }

  void place(Scene scene, Own, Random& random) const override {
    double *q = scene.data.qpos, *v = scene.data.qvel;
    const int nq = scene.model.nq, nv = scene.model.nv;
    add_uniform(q, nq, 0.1, random);
    do {
      for (int i = nq - 2; i < nq; ++i) q[i] = random.uniform(-kReach, kReach);
    } while (std::sqrt(q[nq - 2] * q[nq - 2] + q[nq - 1] * q[nq - 1]) >= kReach);
    add_uniform(v, nv, 0.005, random);
    v[nv - 2] = v[nv - 1] = 0.0;
  }

  Judgement judge(Scene scene, const float* action, Own own) const override {
    const double away = distance(body_at(scene, fingertip_), body_at(scene, target_));
    const double dist = -away * options_.reward_dist_weight;
    const double effort = action_cost(options_.reward_control_weight, action, scene.model.nu);
    own.paid.add({dist, -effort});
    return {dist - effort};
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    const double* q = scene.data.qpos;
    for (int i = 0; i < 2; ++i) out.add(std::cos(q[i]));
    for (int i = 0; i < 2; ++i) out.add(std::sin(q[i]));
    out.add(q + 2, scene.model.nq - 2);
    out.add(scene.data.qvel, 2);
    const double *tip = body_at(scene, fingertip_), *target = body_at(scene, target_);
    for (int i = 0; i < 2; ++i) out.add(tip[i] - target[i]);
  }

 private:
  static constexpr double kReach = 0.2;  // m, largest distance of targets from the middle

  Options options_;
  int fingertip_ = 0, target_ = 0;
};

}  // namespace broadloom::mujoco
