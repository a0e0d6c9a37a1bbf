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

// Beside the first store: its path without ".sqlite", with the names of the others, the task, the
// tuned keys and "-report".
std::string default_report_folder(const std::vector<std::string>& stores,
                                  const std::string& task = "",
                                  const std::vector<std::string>& tuned = {});

// make_study_report() with its progress on standard error.
Result<StudyReport> make_shown_report(const std::vector<std::string>& stores,
                                      StudyReportOptions options, bool quiet);

// Writes the report into the folder, and makes it if needed. command: the call's arguments.
// refresh: seconds after which the page reloads itself; 0: it does not.
Result<ReportFiles> write_report(const StudyReport& report, const std::string& folder,
                                 const std::vector<std::string>& command, int refresh = 0);

// A page that reloads itself from its file.
std::string with_refresh(std::string html, int seconds);

// Prints the answer, the tables and the notes, wrapped to the terminal.
void print_report(std::FILE* stream, const StudyReport& report);

}  // namespace broadloom::cli
