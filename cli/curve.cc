// `broadloom curve`: the learning curve of one or more runs as an SVG picture.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "research/report/learning_curve.h"

namespace broadloom::cli {
namespace {

struct CurveCommand {
  std::vector<std::string> runs;
  std::string out = "learning_curve.svg";
  std::string title = "Learning curve";
  bool quiet = false;
};

int draw(const CurveCommand& command) {
  if (!command.out.ends_with(".svg")) {
    return report_error(
        invalid(
            fmt::format("--out: got '{}', expected a file name that ends in .svg", command.out)),
        false);
  }
  for (const std::string& run : command.runs) {
    const Status is_run = check_run_folder(run);
    if (!is_run.ok()) return report_error(is_run, false);
  }
  const Result<Curves> read = read_curves(command.runs);
  if (!read.ok()) return report_error(read.status(), false);
  if (!command.quiet) {
    for (const std::string& note : read.value().notes) tell(stderr, "Note: {}\n", note);
  }
  const Result<std::string> svg = learning_curve_svg(command.title, read.value().curves);
  if (!svg.ok()) return report_error(svg.status(), false);
  const Status status = write_file_atomically(command.out, svg.value());
  if (!status.ok()) return report_error(status, false);
  if (!command.quiet) tell("{}\n", command.out);
  return 0;
}

}  // namespace

void add_curve_command(Command root, Context& context) {
  const Command app =
      root.add_subcommand("curve", "Draw the learning curve of one or more runs (SVG)");
  const auto command = std::make_shared<CurveCommand>();
  app.add_option("RUN", command->runs, "Run folders; several are drawn as mean and 95 % interval")
      .required();
  app.add_option("--out", command->out, "Picture to write (default learning_curve.svg)")
      .type_name("FILE");
  app.add_option_function(
         "--title", [command](const std::string& title) { command->title = title; },
         "Heading of the picture; may be empty")
      .type_name("TEXT");
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.callback([&context, command] { context.action = [command] { return draw(*command); }; });
}

}  // namespace broadloom::cli
