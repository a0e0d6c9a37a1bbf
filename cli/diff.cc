// `broadloom diff`: finds where two runs first differ.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "broadloom/record/run_diff.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

struct DiffCommand {
  std::string first, second;
  bool quiet = false;
  bool json = false;
};

// A diff; settings and origins that change only the speed are kept apart.
struct ShownDiff {
  RunDiff diff;
  std::vector<TextDifference> speed_alone;
};

bool is_isa(const TextDifference& d) { return d.name == "isa"; }

// If both runs used code with the same bits on every processor, the instruction set cannot be why
// they differ.
ShownDiff set_isa_aside(RunDiff diff) {
  ShownDiff shown{std::move(diff), {}};
  std::vector<TextDifference>& settings = shown.diff.settings;
  std::vector<TextDifference>& origins = shown.diff.origins;
  const auto used = std::find_if(origins.begin(), origins.end(), is_isa);
  const bool same_bits =
      used == origins.end() || (has_common_bits(used->first) && has_common_bits(used->second));
  if (!same_bits) return shown;
  if (used != origins.end()) shown.speed_alone.push_back(*used);
  std::erase_if(settings, is_isa);
  std::erase_if(origins, is_isa);
  return shown;
}

constexpr std::size_t kNamedEnvironments = 8;

void print_differences(const char* title, const std::vector<TextDifference>& differences) {
  if (differences.empty()) return;
  tell("{}\n", title);
  for (const TextDifference& d : differences) {
    tell("  {:<20} {} | {}\n", d.name, d.first.empty() ? "none" : d.first,
         d.second.empty() ? "none" : d.second);
  }
}

std::string environments_text(const std::vector<int>& environments) {
  if (environments.size() == 1) return fmt::format("environment {}", environments.front());
  std::string names;
  for (std::size_t i = 0; i < std::min(environments.size(), kNamedEnvironments); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", environments[i]);
  }
  if (environments.size() > kNamedEnvironments) names += ", ...";
  return fmt::format("at least one of {} environments ({})",
                     with_commas(static_cast<std::int64_t>(environments.size())), names);
}

std::string parting_text(const Parting& p) {
  if (p.field == "params") {
    return fmt::format(
        "The runs first differ in the update of iteration {}: equal block, different parameters "
        "after it (global step {})",
        with_commas(p.iteration), with_commas(p.global_step));
  }
  return fmt::format(
      "The runs first differ at step {} of iteration {} (global step {}), in {} of {}", p.step,
      with_commas(p.iteration), with_commas(p.global_step), p.field,
      environments_text(p.environments));
}

void print_diff(const DiffCommand& command, const ShownDiff& shown) {
  const RunDiff& diff = shown.diff;
  print_differences("Settings that differ:", diff.settings);
  print_differences("Program and machine:", diff.origins);
  print_differences("These change the speed only:", shown.speed_alone);
  if (diff.settings.empty() && diff.origins.empty() && shown.speed_alone.empty()) {
    tell("Same settings, same program, same machine.\n");
  }
  if (!diff.equal()) {
    tell("{}\n", parting_text(*diff.parting));
    return;
  }
  tell("Equal in all {} iterations that both runs have.\n", with_commas(diff.compared));
  if (diff.iterations_first == diff.iterations_second) return;
  tell("{} has {} iterations, {} has {}.\n", command.first, with_commas(diff.iterations_first),
       command.second, with_commas(diff.iterations_second));
}

Json differences_json(const std::vector<TextDifference>& differences) {
  Json out = Json::object();
  for (const TextDifference& d : differences) out[d.name] = {d.first, d.second};
  return out;
}

void print_diff_json(const DiffCommand& command, const ShownDiff& shown) {
  const RunDiff& diff = shown.diff;
  Json object = {{"runs", {command.first, command.second}},
                 {"equal", diff.equal()},
                 {"iterations", {diff.iterations_first, diff.iterations_second}},
                 {"compared", diff.compared},
                 {"settings", differences_json(diff.settings)},
                 {"origins", differences_json(diff.origins)},
                 {"speed_alone", differences_json(shown.speed_alone)},
                 {"parting", nullptr}};
  if (diff.parting) {
    const Parting& p = *diff.parting;
    object["parting"] = {{"iteration", p.iteration},
                         {"field", p.field},
                         {"step", p.step},
                         {"environments", p.environments},
                         {"global_step", p.global_step}};
  }
  print_json(object);
}

int diff_command(const DiffCommand& command) {
  for (const std::string& run : {command.first, command.second}) {
    const Status is_run = check_run_folder(run);
    if (!is_run.ok()) return report_error(is_run, command.json);
  }
  Result<RunDiff> diff = diff_runs(command.first, command.second);
  if (!diff.ok()) return report_error(diff.status(), command.json);
  const ShownDiff shown = set_isa_aside(diff.take());
  if (command.json) {
    print_diff_json(command, shown);
  } else if (!command.quiet) {
    print_diff(command, shown);
  }
  return shown.diff.equal() ? 0 : static_cast<int>(ErrorKind::kMismatch);
}

}  // namespace

void add_diff_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "diff",
      "Find where two runs first differ: iteration, environment, step, field (exit code 6)");
  const auto command = std::make_shared<DiffCommand>();
  app.add_option("FIRST", command->first, "Run folder, trained with --hashes").required();
  app.add_option("SECOND", command->second, "Run folder, trained with --hashes").required();
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback(
      [&context, command] { context.action = [command] { return diff_command(*command); }; });
}

}  // namespace broadloom::cli
