// Makes the report of one or more studies: scores, comparisons and lines of arms, with intervals,
// and sentences that claim no more than these allow. docs/formats/study_report.md defines every
// number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/report_model.h"

namespace broadloom {

// Reads the stores and computes everything. Errors: those of read_study_results(); kInvalidConfig
// if no store is given, two belong to the same study (merge parts first), or none has the task.
Result<StudyReport> make_study_report(const std::vector<std::string>& stores,
                                      const StudyReportOptions& options = {});

}  // namespace broadloom
