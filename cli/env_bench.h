// Stepping speed of an environment alone, without policy or update.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom::cli {

struct BenchOptions {
  int num_envs = 64;
  int num_steps = 10000;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string isa = "auto";  // as set_isa() takes it
};

struct BenchResult {
  int threads = 1;  // that stepped: the caller alone where all environments are stepped as one
  double seconds = 0.0;
  double steps_per_second = 0.0;
  std::int64_t episodes = 0;  // that ended
  double mean_return = 0.0;   // of those; not a number when none ended
};

// Steps num_envs environments num_steps times each under uniform random actions, in `threads`
// contiguous ranges. Actions come from a table made before the clock starts.
Result<BenchResult> bench_env(const std::string& id, const Overrides& env_options,
                              const BenchOptions& options);

}  // namespace broadloom::cli
