// `broadloom report`: the results of studies as a page, as JSON, and as a sentence with tables.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/core/escape.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/record/is_locked.h"
#include "broadloom/record/run_curve.h"
#include "broadloom/record/run_folder.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "cli/study_files.h"
#include "research/report/runs_page.h"
#include "research/report/study_report.h"

namespace broadloom::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> stores;
  std::string out, task;
  std::vector<std::string> tuned;
  int threads = 0;
  bool quiet = false, json = false, follow = false;
  bool has_runs = false;  // else stores
};

// With --follow: seconds between pages.
constexpr int kPageSeconds = 5;

// Whether nobody trains a run: it ended, was stopped, or its process was killed. A resumed run
// still has the record of its earlier end, so that counts only on a file system without locks.
bool has_ended(const std::string& run_dir) {
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return true;
  const Result<bool> is_trained = is_locked(folder.value().lock_path());
  if (is_trained.ok()) return !is_trained.value();
  std::error_code error;
  return std::filesystem::exists(folder.value().ledger_line_path(), error);
}

// Whether nobody writes the store of a study. A search leaves its store for a moment between two
// trials.
bool has_ended(const ReportStudy& study) {
  constexpr int kSearchLooks = 30;
  const int looks = study.sampler.empty() ? 1 : kSearchLooks;
  for (int look = 0; look < looks; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Result<bool> is_written = is_locked(study.store);
    if (!is_written.ok()) return study.runs.pending == 0;
    if (is_written.value()) return false;
  }
  return true;
}

// Beside the folder that holds the runs, so that "runs/*" does not find the page; or here.
std::string runs_report_folder(const std::vector<std::string>& runs) {
  std::filesystem::path common;
  for (const std::string& run : runs) {
    const std::filesystem::path path(run);
    const auto parent = (path.has_filename() ? path : path.parent_path()).parent_path();
    if (run == runs.front()) common = parent;
    if (parent != common) return "runs-report";
  }
  const bool has_name =
      common.has_filename() && common.filename() != "." && common.filename() != "..";
  return has_name ? common.string() + "-report" : "runs-report";
}

// A page of runs. Other files and folders, which "runs/*" finds, too, are left out. Returns whether
// all runs have ended. A single run that is gone is an error that names it.
Result<bool> report_runs(const ReportCommand& command) {
  const char* const flag = !command.task.empty()    ? "--task"
                           : !command.tuned.empty() ? "--tuned"
                           : command.json           ? "--json"
                                                    : nullptr;
  if (flag != nullptr) {
    return invalid(fmt::format("{}: got runs, expected stores of studies; leave it out", flag));
  }
  for (const std::string& path : command.stores) {
    if (kind_of_file(path) != FileKind::kStore) continue;
    return invalid(fmt::format(
        "got runs and '{}', the store of a study, expected either; report each by itself", path));
  }
  std::vector<std::string> runs;
  for (const std::string& path : command.stores) {
    Status is_run = check_run_folder(path);
    if (!is_run.ok() && command.stores.size() == 1) return is_run;
    if (is_run.ok()) is_run = read_curves({path}).status();
    if (is_run.ok()) {
      runs.push_back(path);
    } else if (!command.quiet && !is_beside_runs(path)) {
      tell(stderr, "Note: left out: {}\n", is_run.message());
    }
  }
  if (runs.empty()) {
    return Status(ErrorKind::kNotFound,
                  "got no run with an ended episode, expected the folders of some; `broadloom "
                  "train` writes them");
  }
  const bool is_whole =
      !command.follow ||
      std::all_of(runs.begin(), runs.end(), [](const std::string& run) { return has_ended(run); });
  const std::string folder = command.out.empty() ? runs_report_folder(runs) : command.out;
  FoldersToFill folders;
  BROADLOOM_TRY(folders.make(folder));
  const Result<RunsPage> page = runs_page(runs, folder);
  if (!page.ok()) return page.status();
  if (!command.quiet) {
    for (const std::string& note : page.value().notes) tell(stderr, "Note: {}\n", note);
  }
  const std::string path = folder + "/runs.html";
  const bool reloads = !is_whole;
  BROADLOOM_TRY(write_file_atomically(
      path, reloads ? with_refresh(page.value().html, kPageSeconds) : page.value().html));
  if (!command.quiet) tell("Written: {}\n", path);
  return is_whole;
}

bool has_run(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return check_run_folder(path).ok(); });
}

// A folder that holds runs or stores is neither.
Status check_no_folder(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) continue;
    bool has_stores = false;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      has_stores = has_stores || entry.path().extension() == ".sqlite";
    }
    return invalid(fmt::format("got the folder '{}', expected {}: {} report {}/{}", path,
                               has_stores ? "stores of studies" : "the store of a study, or runs",
                               program_name(), shell_word(path), has_stores ? "*.sqlite" : "*"));
  }
  return {};
}

// Returns whether nothing more can come.
Result<bool> run(const ReportCommand& command, const std::vector<std::string>& arguments) {
  if (command.has_runs) return report_runs(command);
  BROADLOOM_TRY(check_no_folder(command.stores));
  StudyReportOptions options;
  options.threads = resolve_threads(command.threads);
  options.task = command.task;
  options.tuned = command.tuned;
  const Result<StudyReport> report = make_shown_report(command.stores, options, command.quiet);
  if (!report.ok()) {
    Status status = report.status();
    for (const std::string& store : command.stores) {
      status = explain_kind(status, store, FileKind::kStore);
    }
    return status;
  }
  const std::string folder =
      command.out.empty() ? default_report_folder(command.stores, command.task, command.tuned)
                          : command.out;
  const bool prints = !command.json && !command.quiet;
  FoldersToFill folders;
  BROADLOOM_TRY(folders.make(folder));
  if (prints) {
    print_report(stdout, report.value());
    std::fflush(stdout);  // a full disk must not lose it
  }
  const bool is_whole =
      !command.follow || std::all_of(report.value().studies.begin(), report.value().studies.end(),
                                     [](const ReportStudy& study) { return has_ended(study); });
  const Result<ReportFiles> files =
      write_report(report.value(), folder, arguments, is_whole ? 0 : kPageSeconds);
  if (!files.ok()) return files.status();
  if (command.json) print_data(files.value().json);
  if (prints) tell("\nWritten: {}\n", fmt::join(files.value().paths, ", "));
  return is_whole;
}

// Waits for the next page; false after Ctrl-C.
bool wait_for_next() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point next = Clock::now() + std::chrono::seconds(kPageSeconds);
  while (Clock::now() < next && !was_interrupted())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !was_interrupted();
}

// Writes the page again and again while runs go on. The last one no longer reloads itself.
Result<int> report(ReportCommand command, const std::vector<std::string>& arguments) {
  if (command.follow && command.json) return invalid("--follow: got --json, expected one of them");
  command.has_runs = has_run(command.stores);  // once, since a run's folder may go meanwhile
  Result<bool> is_whole = run(command, arguments);
  if (!is_whole.ok()) return is_whole.status();
  if (!command.follow) return 0;
  std::fflush(stdout);  // before it waits
  if (!is_whole.value() && !command.quiet) {
    tell(stderr, "Written every {} s until the runs end; an open page reloads itself\n",
         kPageSeconds);
  }
  command.quiet = true;
  catch_interrupts();
  while (!is_whole.value()) {
    const bool goes_on = wait_for_next();
    command.follow = goes_on;  // the last page no longer reloads itself
    is_whole = run(command, arguments);
    if (!is_whole.ok()) return is_whole.status();
    if (!goes_on) return kInterruptedExit;
  }
  return 0;
}

}  // namespace

void add_report_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "report", "Report the results of studies, as text and as a page; or runs, as a page");
  const auto command = std::make_shared<ReportCommand>();
  app.add_option(
         "STORE", command->stores,
         "Stores of studies. Several are compared, for example from other tasks or match rules. "
         "Or folders of runs: curves, returns and settings side by side")
      .required();
  app.add_option("--out", command->out,
                 "Folder for the results (default: the name of the store, or of the runs' folder, "
                 "with --task and --tuned, and -report)")
      .type_name("DIR");
  app.add_option("--task", command->task, "Only the cells of this environment").type_name("ID");
  app.add_option(
         "--tuned", command->tuned,
         "Keys of which each arm gets its best value; the seeds that choose it do not score it")
      .delimiter(',')
      .type_name("KEY,...");
  app.add_option("--threads", command->threads,
                 "Worker threads; results do not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  add_allow_flag(app, context);
  app.add_flag("--follow", command->follow,
               "Write the page every 5 s until the runs end; in a browser it reloads itself");
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object, as in study.json");
  app.callback([&context, command] {
    context.action = [&context, command] {
      const Result<int> code = report(*command, context.arguments);
      return code.ok() ? code.value() : report_error(code.status(), command->json);
    };
  });
}

}  // namespace broadloom::cli
