// InvertedPendulum-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/inverted_pendulum_v5.py.
#pragma once

#include <cmath>
#include <vector>

#include "bridges/mujoco/gymnasium/parts.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {

class InvertedPendulum final : public Task {
 public:
  struct Options : ModelOptions {
    double reset_noise_scale = 0.01;

    Options() : ModelOptions{"inverted_pendulum.xml", 2} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_model(v);
      v("reset_noise_scale", reset_noise_scale, Range{0.0, 1e6},
        "Range of uniform initial positions and speeds.");
    }
  };

  static TaskFacts facts() {
    return {.id = "InvertedPendulum-v5",
            .summary = "Keep a pole upright on a cart.",
            .upstream = gymnasium_file("inverted_pendulum_v5.py"),
            .sizes = {2, 2, 1, 3},
            .control_limit = 3.0f,
            .reward_threshold = 950.0,
            .end_reasons = {"pole_fell"},
            .view = {.body = 0, .left = -1.2, .bottom = -0.4, .right = 1.2, .top = 0.9}};
  }

  explicit InvertedPendulum(const Options& options) : options_(options) {}

  Status bind(const Model& model) override { return need(model.get(), 2, 2); }
  int observation_size(const Sizes& sizes) const override { return sizes.nq + sizes.nv; }
  std::vector<RewardTerm> reward_terms() const override { return {{"upright", 1.0}}; }

  void place(Scene scene, Own, Random& random) const override {
    add_uniform(scene.data.qpos, scene.model.nq, options_.reset_noise_scale, random);
    add_uniform(scene.data.qvel, scene.model.nv, options_.reset_noise_scale, random);
  }

  Judgement judge(Scene scene, const float*, Own own) const override {
    constexpr double kMostAngle = 0.2;  // rad
    const bool fell = !are_finite(scene.data.qpos, scene.model.nq) ||
                      !are_finite(scene.data.qvel, scene.model.nv) ||
                      std::fabs(scene.data.qpos[1]) > kMostAngle;
    const double upright = fell ? 0.0 : 1.0;
    own.paid.add({upright});
    return {upright, fell ? 0 : kGoesOn};
  }

  void observe(Scene scene, Own, Random&, ObservationWriter out) const override {
    out.add(scene.data.qpos, scene.model.nq);
    out.add(scene.data.qvel, scene.model.nv);
  }

 private:
  Options options_;
};

}  // namespace broadloom::mujoco
