// Measures how fast an environment steps, without a policy or updates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom::cli {

struct BenchOptions {
  int num_envs = 64;
  int num_steps = 10000;
  int max_episode_steps = 0;  // 0: the environment's own time limit
  std::uint64_t seed = 1;
  int threads = 0;
  std::string isa = "auto";  // as set_isa() takes it
  // May be empty. Called now and then by the first thread with the finished share.
  std::function<void(double)> on_share = {};
};

struct BenchResult {
  int threads = 1;  // threads that stepped; 1 if all environments are stepped together
  double seconds = 0.0;
  double steps_per_second = 0.0;
  std::int64_t episodes = 0;  // episodes that ended
  double mean_return = 0.0;   // of those episodes; NaN if none ended
};

// Steps num_envs environments num_steps times each under uniform random actions, in `threads`
// contiguous ranges. The actions are drawn before the clock starts.
Result<BenchResult> bench_env(const std::string& id, const Overrides& env_options,
                              const BenchOptions& options);

}  // namespace broadloom::cli
