// The sub-commands. Each function registers options; after parsing, its callback sets
// Context::action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "cli/command_line.h"

namespace broadloom::cli {

struct Context {
  std::string program;                 // argv[0], to start the program again
  std::vector<std::string> arguments;  // the words after argv[0]
  std::vector<std::string> tokens;     // the same, each flag with its value as --flag=value
  Overrides env_options;               // from --env.<option> flags, keys as in config files
  std::vector<std::string> allowed;    // from --allow_plugin flags
  std::function<int()> action;         // returns the exit code; set by the named command
};

// The context must outlive the command line.
void add_train_command(Command root, Context& context);
void add_eval_command(Command root, Context& context);
void add_advise_command(Command root, Context& context);
void add_study_command(Command root, Context& context);
void add_report_command(Command root, Context& context);
void add_audit_command(Command root, Context& context);
void add_gradients_command(Command root, Context& context);
void add_curve_command(Command root, Context& context);
void add_watch_command(Command root, Context& context);
void add_export_command(Command root, Context& context);
void add_compare_command(Command root, Context& context);
void add_diff_command(Command root, Context& context);
void add_rerun_command(Command root, Context& context);
void add_env_command(Command root, Context& context);
void add_bench_command(Command root, Context& context);
void add_zoo_command(Command root, Context& context);
void add_first_step_command(Command root, Context& context);
void add_config_reference_command(Command root, Context& context);

}  // namespace broadloom::cli
