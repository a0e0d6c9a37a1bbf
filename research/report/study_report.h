// What one or more studies came to: scores, comparisons and lines of arms that differ in one thing,
// with intervals, and sentences that say no more than those allow. docs/formats/study_report.md has
// every number's meaning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/report_model.h"

namespace broadloom {

// Reads the stores and computes everything. Errors: those of read_study_results(); kInvalidConfig
// where no store is given, two are of the same study (as parts are: merge them), or
// none has the task.
Result<StudyReport> make_study_report(const std::vector<std::string>& stores,
                                      const StudyReportOptions& options = {});

}  // namespace broadloom
