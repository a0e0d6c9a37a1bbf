// `broadloom report`: the results of studies as a page, as JSON, and as a sentence with tables.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "cli/study_files.h"
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

Status run(const ReportCommand& command, const std::vector<std::string>& arguments) {
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
  const Command app =
      root.add_subcommand("report", "Report the results of studies, as text and as a page");
  const auto command = std::make_shared<ReportCommand>();
  app.add_option(
         "STORE", command->stores,
         "Stores of studies. Several are compared, for example from other tasks or match rules")
      .required();
  app.add_option("--out", command->out,
                 "Folder for the results (default: the store's name with -report)")
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
