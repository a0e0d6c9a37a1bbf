// HumanoidStandup-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/humanoidstandup_v5.py.
#pragma once

#include <vector>

#include "bridges/mujoco/gymnasium/humanoid_body.h"

namespace broadloom::mujoco {

class HumanoidStandup final : public HumanoidBody {
 public:
  struct Options : HumanoidOptions {
    double uph_cost_weight = 1.0, impact_cost_weight = 0.5e-6;
    Interval impact_cost_range{.high = 10.0};

    Options() : HumanoidOptions{{"humanoidstandup.xml", 5}} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_body(v);
      v("uph_cost_weight", uph_cost_weight, "Accepted but not used, as in Gymnasium.");
      v("impact_cost_weight", impact_cost_weight,
        "Weight of the cost of the squared contact forces.");
      v("impact_cost_range", impact_cost_range, "Range to clip that cost to.");
    }
  };

  static TaskFacts facts() {
    return {.id = "HumanoidStandup-v5",
            .summary = "Stand up from the ground.",
            .upstream = gymnasium_file("humanoidstandup_v5.py"),
            .sizes = {24, 23, 17, 14},
            .control_limit = 0.4f};
  }

  explicit HumanoidStandup(const Options& options) : HumanoidBody(options), options_(options) {}

  Status bind(const Model& model) override { return need(model.get(), 3, kRootSpeeds); }
  std::vector<RewardTerm> reward_terms() const override {
    return {{"height_over_timestep", 1.0},
            {"squared_controls", -options_.ctrl_cost_weight},
            {"squared_contact_forces", -options_.impact_cost_weight},
            {"constant", 1.0}};
  }

  Judgement judge(Scene scene, const float*, Own own) const override {
    const double up = scene.data.qpos[2] / scene.model.opt.timestep;
    const double impact =
        contact_cost(scene, options_.impact_cost_weight, options_.impact_cost_range);
    const double effort = control_cost(scene);
    own.paid.add({up, -effort, -impact, 1.0});
    return {up - effort - impact + 1.0};
  }

 private:
  Options options_;
};

}  // namespace broadloom::mujoco
