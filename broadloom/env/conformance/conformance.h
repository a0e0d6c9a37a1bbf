// Checks what every VecEnv must keep to, whoever wrote it, and says in sentences what is wrong. For
// a test of your own, with any framework or none:
//
//   const ConformanceReport report = check_vec_env([](const VecEnvOptions& options) {
//     return Result<std::unique_ptr<VecEnv>>(std::make_unique<MySimulator>(options));
//   });
//   for (const std::string& finding : report.findings()) std::puts(finding.c_str());
//   return report.findings().empty() ? 0 : 1;
//
// `broadloom env check ID` runs the same checks over a registered environment.
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

// How to check, and what not to expect.
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

// The findings of check_vec_env().
struct ConformanceReport {
  // One thing that was looked at.
  struct Check {
    std::string name;                   // in words
    std::vector<std::string> findings;  // what is wrong, each once
    std::string left_out;               // why it was not looked at; empty: it was
  };
  std::vector<Check> checks;  // in the order in which they ran

  std::vector<std::string> findings() const;  // of all checks, in order
};

// Plays five environments at a time under actions that depend on environment and step alone. What
// VecEnv::traits() says that the environments cannot do is left out, and the report says so. Takes
// some num_steps steps a check; environments of the options' time limit are made again and again.
ConformanceReport check_vec_env(const MakeVecEnv& make, const ConformanceOptions& options = {});

}  // namespace broadloom
