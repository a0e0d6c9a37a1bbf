// Finds out what a file is, for an error about a file of the wrong kind.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

enum class FileKind { kUnknown, kConfig, kStudy, kPanel, kStore, kLedger, kCheckpoint };

// Looks at the first bytes, or at the keys of a TOML file. kUnknown if it cannot be read.
FileKind kind_of_file(const std::string& path);

// Whether the program itself puts such a file beside runs, where "runs/*" finds it.
bool is_beside_runs(const std::string& path);

// Returns the status. If the file is of another kind than `wanted`, returns an error that names its
// kind and the command that takes it.
Status explain_kind(const Status& status, const std::string& path, FileKind wanted);

}  // namespace broadloom::cli
