// A training config as the command line names it.
#pragma once

#include <string>

#include "broadloom/train/config.h"

namespace broadloom::cli {

// Defaults < file < flags. An empty file name stands for no file.
Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options);

}  // namespace broadloom::cli
