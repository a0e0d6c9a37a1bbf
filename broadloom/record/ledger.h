// The ledger: one JSON line per run, from which another team can repeat the run. See
// docs/formats/ledger.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

// Adds a checksum to a record (one JSON object on one line without newline) and checks it with
// check_ledger_line(). kMismatch if it does not fit the schema.
Result<std::string> seal_ledger_line(std::string record);

// Checks a line, without newline, by its checksum. kCorrupt.
Status check_ledger_bytes(std::string_view line);

// Checks a line without newline: checksum, format number, schema, and that training, evaluation and
// panel share no random stream. kCorrupt for the first two, kMismatch for the rest.
Status check_ledger_line(std::string_view line);

// Appends a sealed line unless the ledger has it already, and returns its line number, from 1.
// Several processes may append at the same time: a lock orders them, and each line is on the disk
// before the next. A failed write does not change the ledger. kMismatch if the file is not a
// ledger; kIo.
Result<std::int64_t> append_to_ledger(const std::string& path, const std::string& line);

// Checks, before hours of training, that the file is a ledger or can be made. path: "" for none.
// kMismatch, kIo.
Status check_ledger_file(const std::string& path);

// Reads one line, counted from 1; 0: the last. Does not check it. kNotFound if there is no such
// file or line.
Result<std::string> read_ledger_line(const std::string& path, std::int64_t number);
// Number of lines. kNotFound, kIo.
Result<std::int64_t> count_ledger_lines(const std::string& path);

}  // namespace broadloom
