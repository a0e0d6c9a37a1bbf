// Flags that say where a study's runs train.
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

// kInvalidConfig for flags that this launcher does not have.
Status check_launch_flags(const LaunchFlags& flags, const Launcher& launcher,
                          const StudyPart& part);

// For a remote launcher, includes the command that trains a part: this call without its flags of
// launcher and output. kInvalidConfig if this process was not started by such a call.
Result<LaunchOptions> launch_options(const LaunchFlags& flags, const Launcher& launcher,
                                     const StudyOptions& study, const Context& context);

}  // namespace broadloom::cli
