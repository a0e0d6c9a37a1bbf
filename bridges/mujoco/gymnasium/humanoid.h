// Humanoid-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/humanoid_v5.py.
#pragma once

#include <vector>

#include "bridges/mujoco/gymnasium/humanoid_body.h"

namespace broadloom::mujoco {

class Humanoid final : public HumanoidBody {
 public:
  struct Options : HumanoidOptions {
    double forward_reward_weight = 1.25, contact_cost_weight = 5e-7, healthy_reward = 5.0;
    Interval contact_cost_range{.high = 10.0};
    bool terminate_when_unhealthy = true;
    Interval healthy_z_range{1.0, 2.0};

    Options() : HumanoidOptions{{"humanoid.xml", 5}} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_body(v);
      v("forward_reward_weight", forward_reward_weight, "Weight of the forward speed, m/s.");
      v("contact_cost_weight", contact_cost_weight,
        "Weight of the cost of the squared contact forces.");
      v("contact_cost_range", contact_cost_range, "Range to clip that cost to.");
      v("healthy_reward", healthy_reward, "Reward of a step that ends healthy.");
      v("terminate_when_unhealthy", terminate_when_unhealthy,
        "Whether the episode ends when unhealthy.");
      v("healthy_z_range", healthy_z_range, "Healthy range of the torso's height, m.");
    }
  };

  static TaskFacts facts() {
    return {.id = "Humanoid-v5",
            .summary = "Walk forward on two legs, upright.",
            .upstream = gymnasium_file("humanoid_v5.py"),
            .sizes = {24, 23, 17, 14},
            .control_limit = 0.4f,
            .end_reasons = {"height"}};
  }

  explicit Humanoid(const Options& options) : HumanoidBody(options), options_(options) {}

  Status bind(const Model& model) override {
    dt_ = seconds_per_step(model.get(), options_.frame_skip);
    const auto count = static_cast<std::size_t>(model.get().nbody);
    const double* masses = model.get().body_mass;
    mass_ = numpy_sum<double>(0, count, [=](std::size_t i) { return masses[i]; });
    return need(model.get(), 3, kRootSpeeds);
  }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"forward_speed", options_.forward_reward_weight},
            {"healthy", options_.healthy_reward},
            {"squared_controls", -options_.ctrl_cost_weight},
            {"squared_contact_forces", -options_.contact_cost_weight}};
  }

  // After a step of RK4, body positions come from its last stage and do not follow from qpos.
  int kept_size() const override { return 1; }
  void keep(Scene scene, double* kept) const override { kept[0] = centre(scene); }

  Judgement judge(Scene scene, const float*, Own own) const override {
    const double speed = (centre(scene) - own.kept[0]) / dt_;
    const bool is_healthy = options_.healthy_z_range.holds(scene.data.qpos[2]);
    const double healthy = is_healthy ? options_.healthy_reward : 0.0;
    const double forward = options_.forward_reward_weight * speed, effort = control_cost(scene);
    const double contact =
        contact_cost(scene, options_.contact_cost_weight, options_.contact_cost_range);
    own.paid.add({forward, healthy, -effort, -contact});
    return {forward + healthy - (effort + contact),
            is_healthy || !options_.terminate_when_unhealthy ? kGoesOn : 0};
  }

 private:
  // The centre of mass along x.
  double centre(Scene scene) const {
    double sum = 0.0;
    for (int body = 0; body < scene.model.nbody; ++body) {
      sum += scene.model.body_mass[body] * scene.data.xipos[3 * body];
    }
    return sum / mass_;
  }

  Options options_;
  double dt_ = 0.0, mass_ = 1.0;
};

}  // namespace broadloom::mujoco
