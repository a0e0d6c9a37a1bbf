// Notes of a report: fixed sentences about the limits of its numbers.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Notes on missing, failed or unscored runs, few seeds, cells that did not learn, differences
// expected by chance, mixed revisions and machines, inexact matches, tasks without a range or
// without common arms, and fewer replicates than asked for. The report's numbers must be complete.
std::vector<std::string> report_notes(const std::vector<StudyResults>& results,
                                      const StudyReportOptions& options, const StudyReport& report);

}  // namespace broadloom
