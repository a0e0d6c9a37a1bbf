// What whole blocks make of total_timesteps, and what to choose where they leave much of it out.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/instruments/audit/checks.h"

namespace broadloom {

// The share of total_timesteps that is never taken, and the number of updates.
void add_budget_facts(const Config& config, RunFacts& facts);

// "Warning: 200,000 steps asked for, 131,072 will be trained (1 update), 34 % left out: choose
// total_timesteps = 1310720, or num_envs = 8"; "Note: ..." where less is amiss, and "" where the
// audit's limits for steps_lost and few_updates are kept. cell: named in it, where there are
// several.
std::string budget_warning(const Config& config, const std::string& cell = "");

}  // namespace broadloom
