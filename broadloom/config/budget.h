// What whole blocks make of total_timesteps, and what to choose where they leave much of it out.
#pragma once

#include <string>

#include "broadloom/config/config.h"

namespace broadloom {

struct Budget {
  double steps_lost = 0.0;  // share of total_timesteps that no whole block fits into
  double updates = 0.0;     // blocks that it is enough for
};

Budget budget_of(const Config& config);

// From which on something is said of them: a share above these, fewer updates than these.
struct BudgetLimits {
  double steps_lost, updates;
};
inline constexpr BudgetLimits kBudgetNote{0.02, 10.0};
inline constexpr BudgetLimits kBudgetWarning{0.2, 3.0};

// The most environments, fewer than the config's and a multiple of its families, with which the run
// has more updates; 0: their blocks would be smaller than its minibatches allow. For configs
// without a schedule.
int next_fewer_envs(const Config& config);

// "Warning: 200,000 steps asked for, 131,072 will be trained (1 update), 34 % left out: choose
// total_timesteps = 1310720, or num_envs = 8"; "Note: ..." where less is amiss, and "" where all is
// within kBudgetNote. cell: named in it, where there are several.
std::string budget_warning(const Config& config, const std::string& cell = "");

}  // namespace broadloom
