// `broadloom report`: the results of studies as a page, as JSON, and as a sentence with tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_curve.h"
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
  bool quiet = false, json = false;
};

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

// A page of runs. Other files and folders, which "runs/*" finds, too, are left out.
Status report_runs(const ReportCommand& command) {
  if (!command.task.empty() || !command.tuned.empty() || command.json) {
    return invalid("--task, --tuned and --json: expected stores of studies, got runs");
  }
  std::vector<std::string> runs;
  for (const std::string& path : command.stores) {
    Status is_run = check_run_folder(path);
    if (is_run.ok()) is_run = read_curves({path}).status();
    if (is_run.ok()) {
      runs.push_back(path);
    } else if (!command.quiet && !is_beside_runs(path)) {
      tell(stderr, "Note: left out: {}\n", is_run.message());
    }
  }
  if (runs.empty()) {
    return {ErrorKind::kNotFound,
            "got no run with an ended episode, expected the folders of some; `broadloom train` "
            "writes them"};
  }
  const std::string folder = command.out.empty() ? runs_report_folder(runs) : command.out;
  BROADLOOM_TRY(make_folders(folder));
  const Result<RunsPage> page = runs_page(runs, folder);
  if (!page.ok()) return page.status();
  if (!command.quiet) {
    for (const std::string& note : page.value().notes) tell(stderr, "Note: {}\n", note);
  }
  const std::string path = folder + "/runs.html";
  BROADLOOM_TRY(write_file_atomically(path, page.value().html));
  if (!command.quiet) tell("Written: {}\n", path);
  return {};
}

bool has_run(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return check_run_folder(path).ok(); });
}

Status run(const ReportCommand& command, const std::vector<std::string>& arguments) {
  if (has_run(command.stores)) return report_runs(command);
  StudyReportOptions options;
  options.threads = resolve_threads(command.threads);
  options.task = command.task;
  options.tuned = command.tuned;
  const Result<StudyReport> report = make_study_report(command.stores, options);
  if (!report.ok()) {
    Status status = report.status();
    for (const std::string& store : command.stores) {
      status = explain_kind(status, store, FileKind::kStore);
    }
    return status;
  }
  const std::string folder =
      command.out.empty() ? default_report_folder(command.stores) : command.out;
  const bool prints = !command.json && !command.quiet;
  BROADLOOM_TRY(make_folders(folder));
  if (prints) {
    print_report(stdout, report.value());
    std::fflush(stdout);  // a full disk must not lose it
  }
  const Result<ReportFiles> files = write_report(report.value(), folder, arguments);
  if (!files.ok()) return files.status();
  if (command.json) print_data(files.value().json);
  if (prints) tell("\nWritten: {}\n", fmt::join(files.value().paths, ", "));
  return {};
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
                 "with -report)")
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
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object, as in study.json");
  app.callback([&context, command] {
    context.action = [&context, command] {
      const Status status = run(*command, context.arguments);
      return status.ok() ? 0 : report_error(status, command->json);
    };
  });
}

}  // namespace broadloom::cli
