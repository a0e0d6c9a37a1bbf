// The environments under test, with functions to make and play them.
#pragma once

#include <memory>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/conformance/findings.h"
#include "broadloom/env/conformance/fixed_play.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::conformance {

struct Subject {
  MakeVecEnv make;
  ConformanceOptions options;
  // Set by check_size(), which runs before all other checks.
  EnvSpec spec = {};
  VecEnvTraits traits = {};
  bool takes_limit = true;       // false: the environments refuse a requested time limit
  bool steps_on_device = false;  // has DeviceSteps, at its own time limit
};

// Options for kEnvs environments with a fixed seed. limit 0: options.time_limit. Without a limit if
// the environments refuse one.
VecEnvOptions usual_options(const Subject& subject, int limit = 0);

// Makes environments. Adds a finding and returns null if that fails.
std::unique_ptr<VecEnv> make_envs(const Subject& subject, const VecEnvOptions& options,
                                  Findings& findings);

bool expect_played(const Played& played, Findings& findings);

// Makes environments and plays `steps` steps. Null if that fails.
std::unique_ptr<Played> play_envs(const Subject& subject, const VecEnvOptions& options, int steps,
                                  Findings& findings,
                                  const std::vector<EnvRange>& ranges = {{0, kEnvs}});

// The results of observe() (observations) and observe_critic() (last). Adds findings about their
// rows.
Observations observe_now(const VecEnv& envs, Findings& findings);
// The same of environments from `begin` on; rows of the others hold kUntouched.
Observations observe_from(const VecEnv& envs, int begin, Findings& findings);

}  // namespace broadloom::conformance
