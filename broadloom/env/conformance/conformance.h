// What every VecEnv must keep to, whoever wrote it: checked, and told in sentences. For a test of
// one's own, with any framework or none:
//
//   const ConformanceReport report = check_vec_env(make);
//   for (const std::string& finding : report.findings()) ...   // none where all is well
//
// `broadloom env check ID` runs it over a registered environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// N environments as the options ask, as in simulator_entry.h.
using MakeVecEnv = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

struct ConformanceOptions {
  // Whether chance has a part in the environments; without, seeds need not matter.
  bool has_chance = true;
  // Whether what is seen of a state is not always the same, as with disturb.obs_noise: final
  // observations are then not compared with those that an uncut episode goes on with.
  bool noisy_observations = false;
  int time_limit = 20;  // that they are asked for; at least 2
  int num_steps = 150;  // of each check; never fewer than two time limits and one
  // How often the process has allocated memory so far, where the program counts that. Empty: that
  // no step allocates is not checked.
  std::function<std::int64_t()> allocations;
};

struct ConformanceReport {
  struct Check {
    std::string name;                   // what was looked at
    std::vector<std::string> findings;  // what is wrong, each once
    std::string left_out;               // why it was not looked at; empty: it was
  };
  std::vector<Check> checks;

  std::vector<std::string> findings() const;  // of all checks, in order
};

// Plays five environments at a time under actions that depend on environment and step alone. What
// VecEnv::traits() says that the environments cannot do is left out, and the report says so. Takes
// some num_steps steps a check; environments of the options' time limit are made again and again.
ConformanceReport check_vec_env(const MakeVecEnv& make, const ConformanceOptions& options = {});

}  // namespace broadloom
