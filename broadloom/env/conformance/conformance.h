// Checks the rules that every VecEnv must follow, and reports violations as sentences. Use it in
// your tests, with any framework or none:
//
//   const ConformanceReport report = check_vec_env([](const VecEnvOptions& options) {
//     return Result<std::unique_ptr<VecEnv>>(std::make_unique<MySimulator>(options));
//   });
//   for (const std::string& finding : report.findings()) std::puts(finding.c_str());
//   return report.findings().empty() ? 0 : 1;
//
// `broadloom env check ID` runs the same checks on a registered environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Makes N environments with the given options, as in simulator_entry.h.
using MakeVecEnv = std::function<Result<std::unique_ptr<VecEnv>>(const VecEnvOptions&)>;

// Settings of the checks.
struct ConformanceOptions {
  // Whether the environments use random numbers. If false, seeds need not matter.
  bool has_chance = true;
  // Whether observations of one state vary, as with disturb.obs_noise. If true, final observations
  // are not compared with those of longer episodes.
  bool noisy_observations = false;
  int time_limit = 20;  // requested of the environments, in steps; at least 2
  int num_steps = 150;  // per check; raised to at least 2 * time_limit + 1
  // The environments' own time limit, at which a simulator may truncate by itself. Its final
  // observations are then checked, too. 0: not checked.
  int own_limit = 0;
  // Returns the number of memory allocations of the process so far, if the program counts them.
  // Empty: skip the check that steps do not allocate.
  std::function<std::int64_t()> allocations;
  // Called before each check with its name and the share of checks before it. Empty: nobody is.
  std::function<void(const char* name, double share)> on_check = {};
};

// The result of check_vec_env().
struct ConformanceReport {
  // One check.
  struct Check {
    std::string name;                   // as a phrase
    std::vector<std::string> findings;  // violations, each once
    std::string left_out;               // why it was skipped; empty: it ran
    std::string unchecked;              // parts that it could not check, and why; or empty
  };
  std::vector<Check> checks;  // in the order in which they ran

  std::vector<std::string> findings() const;  // violations of all checks, in order
};

// Runs the checks on five environments at a time. Actions depend only on environment and step.
// Skips checks that VecEnv::traits() excludes and notes this in the report. Each check takes about
// num_steps steps and makes new environments.
ConformanceReport check_vec_env(const MakeVecEnv& make, const ConformanceOptions& options = {});

}  // namespace broadloom
