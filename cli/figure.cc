// `broadloom figure`: figures as SVG pictures, from the data files that their TOML files name.
#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "research/figure/figure_file.h"

namespace broadloom::cli {
namespace {

struct FigureCommand {
  std::vector<std::string> specs;
  std::string out;
  bool check = false, quiet = false;
};

Status check_names(const FigureCommand& command) {
  for (const std::string& spec : command.specs) {
    if (spec.ends_with(".toml")) continue;
    return invalid(
        fmt::format("got '{}', expected a name that ends in .toml, the description of a "
                    "figure",
                    spec));
  }
  if (command.out.empty()) return {};
  if (command.specs.size() > 1) {
    return invalid(
        fmt::format("--out: got {} figures, expected one; without --out each goes beside "
                    "its description",
                    command.specs.size()));
  }
  if (command.out.ends_with(".svg")) return {};
  return invalid(fmt::format(
      "--out: got '{}', expected a name that ends in .svg, which is what is written", command.out));
}

Status check_picture(const std::string& path, const std::string& spec, const std::string& svg) {
  const Result<std::string> kept = read_file(path);
  if (!kept.ok()) return kept.status();
  if (kept.value() == svg) return {};
  return {ErrorKind::kMismatch,
          fmt::format("'{}' is not what '{}' draws; draw it again with: {} figure {}", path, spec,
                      program_name(), spec)};
}

Status draw(const FigureCommand& command, const std::string& spec) {
  const Result<FigureFile> read = read_figure(spec);
  if (!read.ok()) return read.status();
  if (!command.quiet) {
    for (const std::string& note : read.value().notes) fmt::print(stderr, "Note: {}\n", note);
  }
  const std::string path =
      command.out.empty() ? spec.substr(0, spec.size() - 5) + ".svg" : command.out;
  const std::string svg = figure_svg(read.value().figure);
  if (command.check) {
    BROADLOOM_TRY(check_picture(path, spec, svg));
  } else {
    BROADLOOM_TRY(write_file_atomically(path, svg));
  }
  if (!command.quiet) fmt::print("{}{}\n", path, command.check ? " is up to date" : "");
  return {};
}

int run(const FigureCommand& command) {
  const Status names = check_names(command);
  if (!names.ok()) return report_error(names, false);
  for (const std::string& spec : command.specs) {
    const Status status = draw(command, spec);
    if (!status.ok()) return report_error(status, false);
  }
  return 0;
}

}  // namespace

void add_figure_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "figure", "Draw figures (SVG) from data files, as TOML files describe them");
  const auto command = std::make_shared<FigureCommand>();
  app.add_option("SPEC", command->specs, "Descriptions of figures (TOML), beside their data (CSV)")
      .required();
  app.add_option("--out", command->out,
                 "Picture to write (default: SPEC's name with .svg for .toml)")
      .type_name("FILE");
  app.add_flag("--check", command->check,
               "Write nothing; fail where a picture is not what its description draws");
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.callback([&context, command] { context.action = [command] { return run(*command); }; });
}

}  // namespace broadloom::cli
