// What the cells of a report are, before any number: their studies, tasks and arms.
#pragma once

#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Fills title, studies, tasks, cells (in the order of the stores, without numbers) and arms. Cells
// of one arm have the same shape, match and settings of the other axes, and of keys in which bases
// of several studies differ; they differ in task. Where that would put two cells of one task
// together, or bases differ in many keys, studies are kept apart.
void describe_studies(const std::vector<StudyResults>& results, StudyReport& report);

}  // namespace broadloom
