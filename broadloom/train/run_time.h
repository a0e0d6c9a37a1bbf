// The clock of a run, and the time of the core loop's stages.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// Saved counters of a run. (The learner's adam_steps counts gradient steps.)
struct RunClock {
  std::int64_t iteration = 0;    // the current or last one; the first is 1
  std::int64_t global_step = 0;  // environment steps, over all environments
  std::int64_t env_step = 0;     // of one environment; index of its random numbers

  void add_block(int num_steps, int num_envs) {
    env_step += num_steps;
    global_step += static_cast<std::int64_t>(num_steps) * num_envs;
  }

  // The completed share of a run with that many steps, for schedules.
  double progress(std::int64_t steps) const {
    return static_cast<double>(global_step) / static_cast<double>(steps);
  }

  // Appends the saved counters. With one shape, env_step follows from global_step and is not saved,
  // which keeps the state hash of older records.
  void append_state(const std::string& prefix, bool shapes_change, std::vector<TensorRef>& out) {
    out.push_back({prefix + ".iteration", Dtype::kI64, {1}, &iteration, {kCountRange}});
    out.push_back({prefix + ".global_step", Dtype::kI64, {1}, &global_step, {kCountRange}});
    if (shapes_change)
      out.push_back({prefix + ".env_step", Dtype::kI64, {1}, &env_step, {kCountRange}});
  }
  // For runs with one shape.
  void state_restored(int num_envs) { env_step = global_step / num_envs; }
};

// Wall-clock seconds in each stage of Trainer::iterate(), summed over this process's iterations.
// Not saved, because training does not depend on it.
struct StageSeconds {
  double collect = 0.0;
  double bootstrap = 0.0;
  double advantages = 0.0;
  double update = 0.0;
  double instruments = 0.0;
  double record = 0.0;
};

struct StageField {
  const char* name;
  double StageSeconds::*seconds;
};

// In the order of the loop.
inline constexpr StageField kStages[] = {
    {"collect", &StageSeconds::collect},         {"bootstrap", &StageSeconds::bootstrap},
    {"advantages", &StageSeconds::advantages},   {"update", &StageSeconds::update},
    {"instruments", &StageSeconds::instruments}, {"record", &StageSeconds::record},
};

// Adds its own lifetime to `seconds`.
class StageTimer {
 public:
  explicit StageTimer(double& seconds) : seconds_(seconds), begin_(Clock::now()) {}
  ~StageTimer() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point begin_;
};

}  // namespace broadloom
