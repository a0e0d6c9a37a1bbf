// What a reader of a report must know of its runs.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Sentences: runs missing, failed or without a score, few seeds, mixed revisions and machines,
// matches that are not exact, tasks without a range, fewer replicates than asked for.
std::vector<std::string> report_notes(const std::vector<StudyResults>& results,
                                      const StudyReportOptions& options, const StudyReport& report);

// The fewest finished runs of a cell that has any; 0: no run has finished.
int fewest_runs(const StudyReport& report);

// Where runs are fewer than five, a sentence on what their intervals are worth; "" else.
std::string few_runs_words(const StudyReport& report);

}  // namespace broadloom
