// The part of total_timesteps that whole blocks use, and better settings if they leave much out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/config/config.h"

namespace broadloom {

struct Budget {
  double steps_lost = 0.0;  // share of total_timesteps after the last whole block
  double updates = 0.0;     // whole blocks
};

Budget budget_of(const Config& config);

// Limits of a warning: a larger share lost, or fewer updates.
struct BudgetLimits {
  double steps_lost, updates;
};
inline constexpr BudgetLimits kBudgetNote{0.02, 10.0};
inline constexpr BudgetLimits kBudgetWarning{0.2, 3.0};

// The most environments below the config's number, and a multiple of its families, that give more
// updates; 0: blocks would be too small for the minibatches. For configs without a schedule.
int next_fewer_envs(const Config& config);

// "Warning: 200,000 steps give only 1 update, and at least 10 are advised; 131,072 of the steps are
// trained, 34 % are left out: choose total_timesteps = 1310720, or num_envs = 8"; "Note: ..."
// within kBudgetWarning, and "" within kBudgetNote.
std::string budget_warning(const Config& config);
// The same of a study's cell, whose shape is given. advises: whether to name better steps.
std::string budget_warning(const Config& config, const std::string& cell, bool advises);

// total_timesteps with which none of the configs gives a warning, at least theirs; 0: theirs
// differ.
std::int64_t common_budget(const std::vector<Config>& configs);

}  // namespace broadloom
