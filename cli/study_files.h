// A study's report as files and on the terminal.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/report/study_report.h"

namespace broadloom::cli {

// The files of a report.
struct ReportFiles {
  std::string json;                // the text of study.json
  std::vector<std::string> paths;  // of the files
};

// Beside the first store: its path without ".sqlite", with the names of the others and "-report".
std::string default_report_folder(const std::vector<std::string>& stores);

// Writes the report into the folder, and makes it if needed. command: the call's arguments.
Result<ReportFiles> write_report(const StudyReport& report, const std::string& folder,
                                 const std::vector<std::string>& command);

// Prints the answer, the tables and the notes, wrapped to the terminal.
void print_report(std::FILE* stream, const StudyReport& report);

}  // namespace broadloom::cli
