// Swimmer-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/swimmer_v5.py.
#pragma once

#include "bridges/mujoco/gymnasium/runner.h"

namespace broadloom::mujoco {

class Swimmer final : public Runner {
 public:
  struct Options : RunnerOptions {
    Options() : RunnerOptions{{"swimmer.xml", 4}, 1.0, 1e-4, 0.1} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_runner(v);
    }
  };

  static TaskFacts facts() {
    return {.id = "Swimmer-v5",
            .summary = "Swim forward with a body of three links, in a plane.",
            .upstream = gymnasium_file("swimmer_v5.py"),
            .sizes = {5, 5, 2, 4},
            .reward_threshold = 360.0,
            .view = {.from_above = true, .bottom = -2.0, .top = 2.0}};
  }

  explicit Swimmer(const Options& options)
      : Runner(options, {.along_ground = 2, .needed_positions = 2}) {}
};

}  // namespace broadloom::mujoco
