// Describes the cells of a report before any measurement: their studies, tasks and arms.
#pragma once

#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Fills title, studies, tasks, cells (in the order of the stores) and arms. Cells of one arm have
// equal shape, match and settings of the other axes, and equal values of keys in which the bases of
// several studies differ. They differ in task. Studies are kept apart if an arm would have two
// cells of one task, or if bases differ in many keys.
void describe_studies(const std::vector<StudyResults>& results, StudyReport& report);

}  // namespace broadloom
