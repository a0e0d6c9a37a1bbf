// Notes: fixed sentences on what limits a report's numbers.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"

namespace broadloom {

// Runs missing, failed or without a score, few seeds, cells that did not learn, how many
// differences chance alone would show, mixed revisions and machines, matches that are not exact,
// tasks without a range or without common arms, fewer replicates than asked for. Takes a report
// whose numbers are complete.
std::vector<std::string> report_notes(const std::vector<StudyResults>& results,
                                      const StudyReportOptions& options, const StudyReport& report);

}  // namespace broadloom
