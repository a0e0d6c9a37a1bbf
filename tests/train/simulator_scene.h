// Simulators with limits that tests register, and runs on them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "broadloom/record/files.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/run.h"
#include "tests/env/simulators.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {

inline Config simulated_config(const std::string& env_id, const Overrides& overrides = {}) {
  Overrides all{{"env_id", env_id},       {"num_envs", "37"},     {"num_steps", "13"},
                {"num_minibatches", "3"}, {"update_epochs", "2"}, {"total_timesteps", "2886"},
                {"hidden_sizes", "16,8"}};
  return resolved(add_overrides(all, overrides));
}

// Cannot stagger starts.
inline bool registers_in_step() {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  spec.id = "InStep-v0";
  const auto make = [](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    if (options.stagger_starts) return invalid("all of them begin at once");
    return make_vec_env("CartPole-v1", {}, options);
  };
  return register_environment(simulator_entry(spec, make)).ok();
}

inline void register_simulators() {
  static const bool once = [] {
    const auto whole = [](auto inner) {
      return std::make_unique<WholeBatch>(std::move(inner), "Whole-v0");
    };
    register_simulator("Whole-v0", whole);
    register_simulator("Bytes-v0", [](auto inner) {
      return std::make_unique<Serialising>(std::move(inner), "Bytes-v0");
    });
    register_simulator("Unsaved-v0", [](auto inner) {
      return std::make_unique<Unsaved>(std::move(inner), "Unsaved-v0", true);
    });
    register_simulator("Lost-v0", [](auto inner) {
      return std::make_unique<Unsaved>(std::move(inner), "Lost-v0", false);
    });
    register_simulator("NoFinals-v0", [](auto inner) {
      return std::make_unique<WithoutFinals>(std::move(inner), "NoFinals-v0");
    });
    register_simulator("Varying-v0", [](auto inner) {
      return std::make_unique<Varying>(std::move(inner), "Varying-v0");
    });
    return registers_in_step();
  }();
  ASSERT_TRUE(once);
}

class SimulatorRuns : public InFolder {
 protected:
  SimulatorRuns() { register_simulators(); }

  nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(read_file(at(name)).take());
  }

  RunHooks stop_after(std::int64_t iteration) const {
    RunHooks hooks;
    hooks.on_iteration = [this, iteration](const Progress& now) {
      stop_ = now.iteration == iteration;
    };
    hooks.should_stop = [this] { return stop_; };
    return hooks;
  }

  // A run that is stopped after the third of its six iterations, and resumed.
  Status stopped_and_resumed(const Config& config, const std::string& name) {
    BROADLOOM_TRY(start_run(config, at(name), 1, stop_after(3)).status());
    return resume_run(at(name), 2, {}).status();
  }

  mutable bool stop_ = false;
};

inline const Overrides kConstant{{"lr_schedule", "constant"}, {"eval_interval", "3"}};

}  // namespace broadloom
