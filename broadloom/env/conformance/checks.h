// The checks behind conformance.h, one file per topic. conformance.cc gives their names, their
// order, and the environments that skip them.
#pragma once

#include "broadloom/env/conformance/findings.h"
#include "broadloom/env/conformance/subject.h"

namespace broadloom::conformance {

// space_checks.cc. check_size() also stores spec and traits in the subject. If it fails, the other
// checks must not run, since they could write out of bounds.
void check_size(Subject& subject, Findings& findings);
void check_rows(const Subject& subject, Findings& findings);

// episode_checks.cc: kinds, counts and reasons of episode ends.
void check_episodes(const Subject& subject, Findings& findings);

// observation_checks.cc
void check_stacks(const Subject& subject, Findings& findings);
void check_observe(const Subject& subject, Findings& findings);
void check_final_observations(const Subject& subject, Findings& findings);
void check_own_limit(const Subject& subject, Findings& findings);

// repeat_checks.cc: for deterministic environments only.
void check_determinism(const Subject& subject, Findings& findings);
void check_independence(const Subject& subject, Findings& findings);
void check_seeds(const Subject& subject, Findings& findings);

// report_checks.cc: what environments report besides observations and rewards.
void check_counted(const Subject& subject, Findings& findings);
void check_context(const Subject& subject, Findings& findings);
void check_masks(const Subject& subject, Findings& findings);

// mirror_check.cc
void check_mirrored_play(const Subject& subject, Findings& findings);

// state_checks.cc
void check_state(const Subject& subject, Findings& findings);
void check_begin_anew(const Subject& subject, Findings& findings);
void check_another(const Subject& subject, Findings& findings);

// allocation_check.cc
void check_allocations(const Subject& subject, Findings& findings);

}  // namespace broadloom::conformance
