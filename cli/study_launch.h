// What the command line says about who trains a study's runs.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "research/study/launcher.h"

namespace broadloom::cli {

struct LaunchFlags {
  std::string launcher = "local";
  std::string partition;
  int parts = 0;
  int time_limit = 0;  // minutes
};

void add_launch_flags(Command app, LaunchFlags& flags);

// kInvalidConfig where flags ask for what the launcher has not.
Status check_launch_flags(const LaunchFlags& flags, const Launcher& launcher,
                          const StudyPart& part);

// Where jobs are another machine's, with the command that runs a part: this program, called as it
// was, but for the flags that say who trains and where to. kInvalidConfig where this process was
// not started by such a call.
Result<LaunchOptions> launch_options(const LaunchFlags& flags, const Launcher& launcher,
                                     const StudyOptions& study, const Context& context);

}  // namespace broadloom::cli
