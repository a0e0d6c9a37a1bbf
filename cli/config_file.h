// A training config as the command line names it.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "cli/file_kind.h"

namespace broadloom::cli {

// What was meant where a word that should have been a file's name is none: an environment, a run's
// folder, the second number of a list. A file of another kind than was wanted is said to be one.
Status explain_file(const Status& status, const std::string& file,
                    FileKind wanted = FileKind::kConfig);

// Defaults < file < flags. An empty file name stands for no file.
Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options);

}  // namespace broadloom::cli
