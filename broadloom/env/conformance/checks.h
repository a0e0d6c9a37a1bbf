// The checks of conformance.h's kit, each in the file of its trade. conformance.cc has their order,
// their names, and which environments they are left out for.
#pragma once

#include "broadloom/env/conformance/findings.h"
#include "broadloom/env/conformance/subject.h"

namespace broadloom::conformance {

// space_checks.cc. The first also notes what the environments say of themselves; where it finds
// anything, the others would write past the end of something.
void check_size(Subject& subject, Findings& findings);
void check_rows(const Subject& subject, Findings& findings);

// episode_checks.cc: ends are told apart, counted and explained.
void check_episodes(const Subject& subject, Findings& findings);

// observation_checks.cc
void check_stacks(const Subject& subject, Findings& findings);
void check_observe(const Subject& subject, Findings& findings);
void check_final_observations(const Subject& subject, Findings& findings);

// repeat_checks.cc: of environments that are deterministic.
void check_determinism(const Subject& subject, Findings& findings);
void check_independence(const Subject& subject, Findings& findings);
void check_seeds(const Subject& subject, Findings& findings);

// told_checks.cc: what environments tell beside observations and rewards.
void check_counted(const Subject& subject, Findings& findings);
void check_context(const Subject& subject, Findings& findings);

// state_checks.cc
void check_state(const Subject& subject, Findings& findings);
void check_begin_anew(const Subject& subject, Findings& findings);
void check_another(const Subject& subject, Findings& findings);

// allocation_check.cc
void check_allocations(const Subject& subject, Findings& findings);

}  // namespace broadloom::conformance
