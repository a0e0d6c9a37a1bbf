// The environments of a report.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// The environment of a cell with its options and time limit. Scores are normalised only where both
// are the environment's own. One that this program does not know is a task without a range.
ReportTask task_of(const ResultCell& cell);

// Leaves only the cells of one task, and their runs. kInvalidConfig, with the tasks that there are,
// where none has this name.
Status keep_task(const std::string& name, std::vector<StudyResults>& results);

}  // namespace broadloom
