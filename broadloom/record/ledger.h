// The ledger: one JSON line a run, from which another team can run it again. See
// docs/formats/ledger.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

// Adds the checksum of what is there to a record, one JSON object on one line without its newline,
// and checks the whole as check_ledger_line does. kMismatch: it is not what the schema asks for.
Result<std::string> seal_ledger_line(std::string record);

// Whether a line, without its newline, is as it was written, by its checksum. kCorrupt.
Status check_ledger_bytes(std::string_view line);

// A whole line without its newline: the checksum (a line altered by hand fails it), the format's
// number, the schema, and that training, evaluation and
// panel share no random stream. kCorrupt for
// the first two, kMismatch for the rest.
Status check_ledger_line(std::string_view line);

// Appends a sealed line unless the ledger holds it already, and returns the number of its line,
// from 1. Safe when several processes do so at once: one holds a lock, writes the line whole and
// has it on the disk before the next. A failed write leaves the ledger as it was. kMismatch where
// the file is no ledger; kIo.
Result<std::int64_t> append_to_ledger(const std::string& path, const std::string& line);

// Whether append_to_ledger may work, asked before hours of training: the file is a ledger, or can
// be made. path: "" for none. kMismatch, kIo.
Status check_ledger_file(const std::string& path);

// One line, number from 1; 0: the last. Its checks are the caller's. kNotFound where there is no
// such file or line.
Result<std::string> read_ledger_line(const std::string& path, std::int64_t number);
// How many lines it has. kNotFound, kIo.
Result<std::int64_t> count_ledger_lines(const std::string& path);

}  // namespace broadloom
