// What a file is, where a command was given one of another kind.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

enum class FileKind { kUnknown, kConfig, kStudy, kPanel, kStore, kLedger, kCheckpoint };

// By what it begins with and, of TOML, by its keys; kUnknown also where it cannot be read.
FileKind kind_of_file(const std::string& path);

// The status, unless the file that it is about is of another kind than was wanted: then what it is,
// and which command takes it.
Status explain_kind(const Status& status, const std::string& path, FileKind wanted);

}  // namespace broadloom::cli
