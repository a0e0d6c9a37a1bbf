// The program: parses the command line, runs one sub-command, returns its exit code.
#include "broadloom/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "bridges/bridges.h"
#include "broadloom/core/out_of_memory.h"
#include "broadloom/core/pool_shortage.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom_build_info.inc"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/program.h"

namespace broadloom::cli {
namespace {

constexpr char kVersion[] = "broadloom " BROADLOOM_VERSION " (" BROADLOOM_REVISION
                            ", " BROADLOOM_BUILD_TYPE ", " BROADLOOM_COMPILER ")";

// An environment registered by this program, if it has one; for the example in --help.
std::string first_environment() {
  for (const EnvSpec& spec : list_envs()) {
    if (!is_built_in(spec.id)) return spec.id;
  }
  return "CartPole-v1";
}

void add_commands(Command root, Context& context) {
  add_train_command(root, context);
  add_eval_command(root, context);
  add_advise_command(root, context);
  add_study_command(root, context);
  add_report_command(root, context);
  add_audit_command(root, context);
  add_gradients_command(root, context);
  add_curve_command(root, context);
  add_watch_command(root, context);
  add_export_command(root, context);
  add_compare_command(root, context);
  add_diff_command(root, context);
  add_rerun_command(root, context);
  add_env_command(root, context);
  add_zoo_command(root, context);
  add_bench_command(root, context);
  add_first_step_command(root, context);
  add_config_reference_command(root, context);
  root.footer(fmt::format(
      "First steps:\n  {0} train --env_id {1}\n  {0} env list\n"
      "Help on a command: {0} help COMMAND\n"
      "Exit codes: 0 done, 1 out of memory or a bug, 2 wrong call, 3 not found, 4 cannot read or "
      "write,\n"
      "  5 damaged file, 6 mismatch, 7 not finite, 20 audit warnings, 21 audit errors, 22 no "
      "advice,\n"
      "  130 stopped by Ctrl-C\n",
      program_name(), first_environment()));
}

// Whether errors also go to standard output as JSON. The --json of `bench` names a file.
bool wants_json(const std::vector<std::string>& given) {
  if (!given.empty() && given.front() == "bench") return false;
  return std::find(given.begin(), given.end(), "--json") != given.end();
}

// `broadloom help eval` is `broadloom eval --help`.
std::vector<std::string> with_help_as_flag(std::vector<std::string> given) {
  if (given.empty() || given.front() != "help") return given;
  given.erase(given.begin());
  given.emplace_back("--help");
  return given;
}

CommandLine command_line() {
  return {
      program_name(),
      "Broadloom: trains PPO, PPO with RND and PQN on batches of environments, and measures them.",
      kVersion};
}

int run(const std::string& program, const std::vector<std::string>& given,
        const std::vector<Status>& before) {
  const bool json = wants_json(given);
  for (const Status& status : before) {
    if (!status.ok()) return report_error(status, json);
  }
  Context context;
  context.program = program;
  context.arguments = given;
  CommandLine line = command_line();
  add_commands(line.root(), context);
  Result<Arguments> arguments = prepare_arguments(line.root(), with_help_as_flag(given));
  if (!arguments.ok()) return report_error(arguments.status(), json);
  context.env_options = std::move(arguments.value().env_options);
  context.tokens = arguments.value().tokens;
  const Result<std::optional<int>> answered = line.parse(std::move(arguments.value().tokens));
  if (!answered.ok()) return report_error(answered.status(), json);
  if (answered.value()) return *answered.value();
  for (const std::string& code : context.allowed) {
    if (const Status status = allow_code(code); !status.ok()) return report_error(status, json);
  }
  allow_settings(context.env_options);
  const int code = context.action();
  // A command that wants all its threads has ended with an error that says so.
  const bool is_quiet = std::count(given.begin(), given.end(), "--quiet") > 0;
  if (any_pool_was_alone() && !is_quiet && code != static_cast<int>(ErrorKind::kIo)) {
    tell(stderr,
         "Note: the machine did not give all threads that were asked for. What should have been "
         "shared was done by one, with the same results\n");
  }
  // A result that could not be printed is an error.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return report_error(
      {ErrorKind::kIo, "cannot write to standard output; free some space, or write elsewhere"},
      false);
}

}  // namespace

bool has_json(const std::vector<std::string>& arguments) {
  Context context;
  context.arguments = arguments;
  const CommandLine line = command_line();
  add_commands(line.root(), context);
  Command command = line.root();
  for (const std::string& word : arguments) {
    const std::optional<Command> named = command.subcommand(word);
    if (!named) break;
    command = *named;
  }
  return command.is_switch("json");
}

}  // namespace broadloom::cli

// The library throws nothing. These are out of memory, or a bug of a dependency.
int broadloom::run_program(int argc, char** argv, const std::vector<Status>& before) {
  cli::open_standard_streams();
  cli::survive_file_size_limit();
  try {
    const std::string program = argc > 0 ? argv[0] : "broadloom";
    cli::set_program_name(std::filesystem::path(program).filename().string());
    register_bridges();
    return cli::run(program, std::vector<std::string>(argv + std::min(argc, 1), argv + argc),
                    before);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "%s: %s, or name a smaller file. The call was:", cli::program_name().c_str(),
                 kOutOfMemory);
    for (int i = 1; i < argc; ++i) std::fprintf(stderr, " %s", argv[i]);
    std::fprintf(stderr, "\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", cli::program_name().c_str(), error.what());
    return 1;
  }
}
