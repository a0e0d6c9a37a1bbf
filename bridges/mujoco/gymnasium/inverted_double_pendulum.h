// InvertedDoublePendulum-v5 of Gymnasium 1.4.0,
// gymnasium/envs/mujoco/inverted_double_pendulum_v5.py.
#pragma once

#include <cmath>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

class InvertedDoublePendulum final : public Task {
 public:
  struct Options : ModelOptions {
    double healthy_reward = 10.0, reset_noise_scale = 0.1;

    Options() : ModelOptions{"inverted_double_pendulum.xml", 5} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_model(v);
      v("healthy_reward", healthy_reward, "Reward of a step after which the poles stand.");
      v("reset_noise_scale", reset_noise_scale, Range{0.0, 1e6},
        "Range of uniform initial positions, standard deviation of normal initial speeds.");
    }
  };

  static TaskFacts facts() {
    return {.id = "InvertedDoublePendulum-v5",
            .summary = "Keep two poles upright on a cart, one on the other.",
            .upstream = gymnasium_file("inverted_double_pendulum_v5.py"),
            .sizes = {3, 3, 1, 4},
            .reward_threshold = 9100.0,
            .end_reasons = {"poles_fell"},
            .view = {.body = 0, .left = -1.6, .bottom = -0.4, .right = 1.6, .top = 1.5}};
  }

  explicit InvertedDoublePendulum(const Options& options) : options_(options) {}

  Status bind(const Model& model) override {
    const mjModel& m = model.get();
    if (m.nsite >= 1 && m.nq == 3 && m.nv == 3) return {};
    return invalid(
        "the model has no site, which tells where the poles' tip is, or not three joints of one "
        "number each");
  }
  int observation_size(const Sizes&) const override { return 9; }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"upright", options_.healthy_reward},
            {"squared_tip_x", -0.01},
            {"squared_tip_height_error", -1.0},
            {"squared_speed_1", -1e-3},
            {"squared_speed_2", -5e-3}};
  }

  void place(Scene scene, Own, Random& random) const override {
    add_uniform(scene.data.qpos, scene.model.nq, options_.reset_noise_scale, random);
    add_normal(scene.data.qvel, scene.model.nv, options_.reset_noise_scale, random);
  }

  Judgement judge(Scene scene, const float*, Own own) const override {
    const double x = scene.data.site_xpos[0], height = scene.data.site_xpos[2];
    const double v1 = scene.data.qvel[1], v2 = scene.data.qvel[2];
    const bool fell = height <= 1.0;
    const double upright = fell ? 0.0 : options_.healthy_reward;
    const double aside = 0.01 * (x * x), below = (height - 2.0) * (height - 2.0);
    const double speed_1 = 1e-3 * (v1 * v1), speed_2 = 5e-3 * (v2 * v2);
    own.paid.add({upright, -aside, -below, -speed_1, -speed_2});
    return {upright - (aside + below) - (speed_1 + speed_2), fell ? 0 : kGoesOn};
  }

  // Sine and cosine come from the C library. NumPy's may differ in the last bit.
  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    const double* q = scene.data.qpos;
    out.add(q[0]);
    for (int i = 1; i < 3; ++i) out.add(std::sin(q[i]));
    for (int i = 1; i < 3; ++i) out.add(std::cos(q[i]));
    out.add_clipped(scene.data.qvel, 3, -10.0, 10.0);
    out.add_clipped(scene.data.qfrc_constraint, 1, -10.0, 10.0);
  }

 private:
  Options options_;
};

}  // namespace broadloom::mujoco
