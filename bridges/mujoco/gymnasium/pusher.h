// Pusher-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/pusher_v5.py.
#pragma once

#include <cmath>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

class Pusher final : public Task {
 public:
  struct Options : ModelOptions {
    double reward_near_weight = 0.5, reward_dist_weight = 1.0, reward_control_weight = 0.1;

    Options() : ModelOptions{"pusher_v5.xml", 5} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_model(v);
      v("reward_near_weight", reward_near_weight, "Weight of the distance from arm to object, m.");
      v("reward_dist_weight", reward_dist_weight, "Weight of the distance from object to goal, m.");
      v("reward_control_weight", reward_control_weight, "Weight of the squared actions.");
    }
  };

  static TaskFacts facts() {
    return {
        .id = "Pusher-v5",
        .summary = "Push a cylinder to a goal with an arm of seven joints.",
        .upstream = gymnasium_file("pusher_v5.py"),
        .sizes = {11, 11, 7, 13},
        .control_limit = 2.0f,
        .max_episode_steps = 100,
        .reward_threshold = 0.0,
        .view = {
            .from_above = true, .body = 0, .left = -0.6, .bottom = -1.2, .right = 1.4, .top = 0.8}};
  }

  explicit Pusher(const Options& options) : options_(options) {}

  Status bind(const Model& model) override {
    BROADLOOM_TRY(need(model.get(), 11, 11));
    BROADLOOM_TRY(find_body(model, "tips_arm", tips_));
    BROADLOOM_TRY(find_body(model, "object", object_));
    return find_body(model, "goal", goal_);
  }
  int observation_size(const Sizes&) const override { return 23; }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"object_to_goal", -options_.reward_dist_weight},
            {"squared_actions", -options_.reward_control_weight},
            {"arm_to_object", -options_.reward_near_weight}};
  }

  void place(Scene scene, Own, Random& random) const override {
    constexpr double kNearest = 0.17;  // m, smallest distance from object to goal
    double* object = scene.data.qpos + scene.model.nq - 4;
    do {
      object[0] = random.uniform(-0.3, 0.0);
      object[1] = random.uniform(-0.2, 0.2);
    } while (!(std::sqrt(object[0] * object[0] + object[1] * object[1]) > kNearest));
    object[2] = object[3] = 0.0;  // the goal
    double* v = scene.data.qvel;
    const int nv = scene.model.nv;
    add_uniform(v, nv, 0.005, random);
    for (int i = nv - 4; i < nv; ++i) v[i] = 0.0;
  }

  Judgement judge(Scene scene, const float* action, Own own) const override {
    const double* object = body_at(scene, object_);
    const double near = -distance(object, body_at(scene, tips_)) * options_.reward_near_weight;
    const double dist = -distance(object, body_at(scene, goal_)) * options_.reward_dist_weight;
    const double effort = action_cost(options_.reward_control_weight, action, scene.model.nu);
    own.paid.add({dist, -effort, near});
    return {dist - effort + near};
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    out.add(scene.data.qpos, 7);
    out.add(scene.data.qvel, 7);
    for (const int body : {tips_, object_, goal_}) out.add(body_at(scene, body), 3);
  }

 private:
  Options options_;
  int tips_ = 0, object_ = 0, goal_ = 0;
};

}  // namespace broadloom::mujoco
