// The tasks of a report: environments with their options.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// The task of a cell: environment, options and time limit. Scores can be normalised only if both
// are the environment's own. An unknown environment is a task without a range.
ReportTask task_of(const ResultCell& cell);

// Keeps only the cells and runs of one task. kInvalidConfig lists the tasks if none has this name.
Status keep_task(const std::string& name, std::vector<StudyResults>& results);

}  // namespace broadloom
