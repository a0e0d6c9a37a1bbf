// Every number that a run can report, and what it is called.
#pragma once

#include <vector>

#include "broadloom/core/number_info.h"

namespace broadloom {

// Those of a line of metrics.jsonl that no iteration reports.
inline constexpr NumberInfo kIterationInfo{"iteration", "Iterations", "", kNoTag};
inline constexpr NumberInfo kGlobalStepInfo{"global_step", "Environment steps", "", kNoTag};
inline constexpr NumberInfo kWallTimeInfo{"wall_time", "Unix time", "s", kNoTag};
inline constexpr NumberInfo kStepsPerSecondInfo{"steps_per_second", "Environment steps per second",
                                                "", "charts/SPS"};

// As the loop, the update and the instruments declare them, in the order of metrics.jsonl with all
// instruments on. Some are forms.
std::vector<NumberInfo> declared_numbers();

}  // namespace broadloom
