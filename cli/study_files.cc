#include "cli/study_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/run_dir.h"
#include "research/report/report_tables.h"
#include "research/report/study_json.h"
#include "research/report/study_page.h"

namespace broadloom::cli {
namespace {

constexpr std::size_t kWidest = 100;  // lines longer than that are hard to read

// Columns are as wide as their widest text. Lines end without blanks.
void print_table(std::FILE* stream, const ReportTable& table, std::size_t columns) {
  std::vector<std::size_t> widths(table.columns.size(), 0);
  std::vector<std::vector<std::string>> rows = {table.columns};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  tell(stream, "\n{}\n", table.title);
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    tell(stream, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  if (!table.below.empty()) tell(stream, "{}\n", wrapped(table.below, columns, ""));
}

std::string without_ending(const std::string& store) {
  std::filesystem::path path(store);
  if (path.extension() == ".sqlite") path.replace_extension();
  return path.string();
}

}  // namespace

std::string default_report_folder(const std::vector<std::string>& stores, const std::string& task,
                                  const std::vector<std::string>& tuned) {
  std::string folder = without_ending(stores.front());
  for (std::size_t i = 1; i < stores.size(); ++i) {
    folder += '+';
    folder += std::filesystem::path(without_ending(stores[i])).filename().string();
  }
  if (!task.empty()) folder += "-" + file_name(task);
  if (!tuned.empty()) folder += "-tuned-" + file_name(fmt::format("{}", fmt::join(tuned, "+")));
  return folder + "-report";
}

Result<StudyReport> make_shown_report(const std::vector<std::string>& stores,
                                      StudyReportOptions options, bool quiet) {
  ShareLine line(quiet);
  options.on_part = [&](const std::string& what, double share, double seconds) {
    if (share == 0.0) line.show_first(what, seconds);
    line.show(what, share);
  };
  return make_study_report(stores, options);
}

std::string with_refresh(std::string html, int seconds) {
  constexpr std::string_view kHead = "<head>";
  const std::size_t head = html.find(kHead);
  if (head == std::string::npos) return html;
  return html.insert(head + kHead.size(),
                     fmt::format("\n<meta http-equiv=\"refresh\" content=\"{}\">", seconds));
}

Result<ReportFiles> write_report(const StudyReport& report, const std::string& folder,
                                 const std::vector<std::string>& command, int refresh) {
  FoldersToFill folders;
  BROADLOOM_TRY(folders.make(folder));
  const Manifest program = make_manifest({}, 0, 1, "");
  ReportFiles files;
  files.json =
      study_report_json(report, {program.created, program.version, program.revision, command});
  files.paths.push_back(folder + "/study.json");
  BROADLOOM_TRY(write_file_atomically(files.paths.back(), files.json));
  const Result<std::string> page = study_page(files.json);
  if (!page.ok()) return page.status();
  files.paths.push_back(folder + "/study.html");
  BROADLOOM_TRY(write_file_atomically(
      files.paths.back(), refresh > 0 ? with_refresh(page.value(), refresh) : page.value()));
  return files;
}

void print_report(std::FILE* stream, const StudyReport& report) {
  if (report.studies.empty()) return;  // none was asked for
  const std::size_t columns = std::min(screen_size(stream).columns, kWidest);
  tell(stream, "{}\n\n{} ({})\n", wrapped(report.answer, columns, ""), report.heading,
       report.title);
  if (!report.two_way.empty()) {
    tell(stream, "\n{}\n", wrapped(report.two_way.front().words, columns, ""));
  }
  for (const ReportTable& table : report_tables(report)) print_table(stream, table, columns);
  if (!report.notes.empty()) tell(stream, "\nNotes\n");
  for (const std::string& note : report.notes) {
    tell(stream, "{}\n", wrapped("- " + note, columns, "  "));
  }
}

}  // namespace broadloom::cli
