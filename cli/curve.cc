// `broadloom curve`: the learning curves of one or more runs as an SVG picture.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "research/report/learning_curve.h"

namespace broadloom::cli {
namespace {

struct CurveCommand {
  std::vector<std::string> runs;
  std::string out;
  std::optional<std::string> title;  // absent: names the task
  bool quiet = false;
};

// In the run's folder; for several runs in the folder that holds all of them, or else here.
std::string picture_path(const CurveCommand& command) {
  if (!command.out.empty()) return command.out;
  constexpr const char* kName = "learning_curve.svg";
  const auto folder_of = [&](const std::string& run) {
    const std::filesystem::path path(run);
    return (path.has_filename() ? path : path.parent_path()).parent_path();
  };
  const std::filesystem::path first(command.runs.front());
  if (command.runs.size() == 1) return (first / kName).string();
  const std::filesystem::path folder = folder_of(command.runs.front());
  for (const std::string& run : command.runs) {
    if (folder_of(run) != folder) return kName;
  }
  return (folder / kName).string();
}

int draw(CurveCommand command) {
  if (!command.out.empty() && !command.out.ends_with(".svg")) {
    return report_error(
        invalid(
            fmt::format("--out: got '{}', expected a file name that ends in .svg", command.out)),
        false);
  }
  const bool has_others = !std::all_of(command.runs.begin(), command.runs.end(), is_beside_runs);
  if (has_others) std::erase_if(command.runs, is_beside_runs);
  for (const std::string& run : command.runs) {
    const Status is_run = check_run_folder(run);
    if (!is_run.ok()) return report_error(is_run, false);
  }
  const Result<Curves> read = read_curves(command.runs);
  if (!read.ok()) return report_error(read.status(), false);
  if (!command.quiet) {
    for (const std::string& note : read.value().notes) tell(stderr, "Note: {}\n", note);
  }
  const std::string title =
      command.title.value_or(fmt::format("{}: return while training", read.value().task));
  const Result<std::string> svg = learning_curve_svg(title, read.value().lines);
  if (!svg.ok()) return report_error(svg.status(), false);
  const std::string path = picture_path(command);
  const Status status = write_file_atomically(path, svg.value());
  if (!status.ok()) return report_error(status, false);
  if (!command.quiet) tell("{}\nNext: open this picture in a browser\n", path);
  return 0;
}

}  // namespace

void add_curve_command(Command root, Context& context) {
  const Command app = root.add_subcommand("curve", "Draw the learning curves of runs (SVG)");
  const auto command = std::make_shared<CurveCommand>();
  app.add_option("RUN", command->runs, "Run folders: a line for each setting, over its seeds")
      .required();
  app.add_option(
         "--out", command->out,
         "Picture to write (default: learning_curve.svg in the folder of the run or the runs)")
      .type_name("FILE");
  app.add_option_function(
         "--title", [command](const std::string& title) { command->title = title; },
         "Heading of the picture (default: names the task); may be empty")
      .type_name("TEXT");
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.callback([&context, command] { context.action = [command] { return draw(*command); }; });
}

}  // namespace broadloom::cli
