// What is checked, and how checks make environments of it and play them.
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
  // What the environments say of themselves: check_size() asks them, before all other checks.
  EnvSpec spec;
  VecEnvTraits traits;
};

// Of kEnvs environments of one seed; limit 0: with the time limit of the kit's options.
VecEnvOptions usual_options(const Subject& subject, int limit = 0);

// They were made before with such options: what fails now is what is wrong.
std::unique_ptr<VecEnv> made(const Subject& subject, const VecEnvOptions& options,
                             Findings& findings);

bool expect_played(const Played& played, Findings& findings);

// What so many steps of environments with these options give; nothing where they fail.
std::unique_ptr<Played> played(const Subject& subject, const VecEnvOptions& options, int steps,
                               Findings& findings,
                               const std::vector<EnvRange>& ranges = {{0, kEnvs}});

// What observe() and observe_critic() write, one after the other.
Shown seen_now(const VecEnv& envs);

}  // namespace broadloom::conformance
