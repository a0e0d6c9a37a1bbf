// Config keys as flags, in the groups of --help and of the reference page.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "cli/command_line.h"

namespace broadloom::cli {

struct Context;

struct ConfigField {
  FieldInfo info;           // default_text: for Discrete actions
  std::string box_default;  // default for Box actions
};

struct ConfigGroup {
  std::string title;
  std::vector<ConfigField> fields;
};

// Every key of Config, in declared order, under its heading.
std::vector<ConfigGroup> config_groups();

// One flag for each key, plus the CleanRL spelling anneal_lr and a place in --help for
// --env.<option>. Parsing appends to `out`, which must outlive the app. Adds nothing to a command
// that the call does not name: CLI11 compares each new flag with all others, which takes longer
// than the rest of the program's start.
void add_config_flags(Command app, const Context& context, Overrides& out);

// Flags of the keys that a resumed run may change (setup/machine.h). Appends to `out`, too.
void add_machine_flags(Command app, Overrides& out);

// --allow_plugin, for commands that read the environment's id from a run or a file.
Option add_allow_flag(Command app, Context& context);

// The help of --env.<option>, for commands that make an environment but take no config.
Option add_env_option_flag(Command app);

}  // namespace broadloom::cli
