// A training config as the command line names it.
#pragma once

#include <string>

#include "broadloom/config/config.h"

namespace broadloom::cli {

// What was meant where a word that should have been a file's name is none: an environment, a run's
// folder, the second number of a list.
Status explain_file(const Status& status, const std::string& file);

// Defaults < file < flags. An empty file name stands for no file.
Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options);

}  // namespace broadloom::cli
