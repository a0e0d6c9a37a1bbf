// HalfCheetah-v5 of Gymnasium 1.4.0, gymnasium/envs/mujoco/half_cheetah_v5.py.
#pragma once

#include "bridges/mujoco/gymnasium/runner.h"

namespace broadloom::mujoco {

class HalfCheetah final : public Runner {
 public:
  struct Options : RunnerOptions {
    Options() : RunnerOptions{{"half_cheetah.xml", 5}, 1.0, 0.1, 0.1} {}
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      visit_runner(v);
    }
  };

  static TaskFacts facts() {
    return {.id = "HalfCheetah-v5",
            .summary = "Run forward on two legs with a trunk between them, in a plane.",
            .upstream = gymnasium_file("half_cheetah_v5.py"),
            .sizes = {9, 9, 6, 8},
            .reward_threshold = 4800.0};
  }

  explicit HalfCheetah(const Options& options) : Runner(options, {.normal_speeds = true}) {}
};

}  // namespace broadloom::mujoco
