// Writes a StudyReport as JSON: docs/formats/study_report.md.
#pragma once

#include <string>
#include <vector>

#include "research/report/study_report.h"

namespace broadloom {

inline constexpr int kStudyJsonFormat = 3;

// The origin of a report.
struct ReportMaker {
  std::string created;            // UTC, ISO 8601
  std::string version, revision;  // of the program
  std::vector<std::string> command;
};

std::string study_report_json(const StudyReport& report, const ReportMaker& maker);

}  // namespace broadloom
