// The settings that a race begins with, by kind of task, and the experiment behind each.
#pragma once

#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/spec.h"
#include "research/advise/evidence.h"

namespace broadloom {

// One setting to try.
struct CandidateRow {
  int num_envs, num_steps, minibatch_size, update_epochs;
  double rate;           // times the task's default
  std::string_view why;  // the measurement behind it, with its page
};

// In the order of trust: if a budget has no room for all, the last ones are left out. After those
// of another kind come those of small tasks.
std::vector<CandidateRow> candidate_rows(TaskKind kind);

// kGpu if the device is one, kGames if the policy sees images, kRobots if MuJoCo steps the task.
// spec: of a simulator that was made, since others do not know their engine.
TaskKind kind_of(const Config& config, const EnvSpec& spec);

}  // namespace broadloom
