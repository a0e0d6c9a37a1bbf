// The environments of a report.
#pragma once

#include <string>
#include <vector>

#include "broadloom/study/study_report.h"
#include "broadloom/study/study_results.h"

namespace broadloom {

// Whether a key of a config says what the environment is: env_id, env.<option>, max_episode_steps.
bool is_task_key(const std::string& key);

// The environment of a cell with its options and time limit. Scores are normalised only where both
// are the environment's own. One that this program does not know is a task without a range.
ReportTask task_of(const ResultCell& cell);

}  // namespace broadloom
