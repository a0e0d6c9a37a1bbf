// Reads a training config from a file and flags.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "cli/file_kind.h"

namespace broadloom::cli {

// Adds to an error about `file` what the user may have meant: an environment, a run folder, the
// second number of a list, or a file of another kind than `wanted`.
Status explain_file(const Status& status, const std::string& file,
                    FileKind wanted = FileKind::kConfig);

// The config of defaults < `lower` < flags.
Result<Config> make_config(const Overrides& lower, const Overrides& flags,
                           const Overrides& env_options);

// Keys that a file and flags set.
struct Settings {
  std::string file;  // empty: no file
  TomlOverrides from_file;
  Overrides all;  // the file's, then those of flags
};

// Reads them, and allows the code of environments that they name.
Result<Settings> read_settings(const std::string& file, const Overrides& flags,
                               const Overrides& env_options);

// The config of defaults < file < flags. Errors of the file name its line.
Result<Config> config_of(const Settings& settings);

// Both.
Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options);

}  // namespace broadloom::cli
