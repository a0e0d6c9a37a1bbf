// Where a run's line of a ledger goes, and where it is read from.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// The ledger that a run is recorded in: the one asked for; "none": nowhere, and ""; "": that of all
// runs in the folder that this run's folder is in, ledger.jsonl.
std::string ledger_of_run(const std::string& asked_for, const std::string& run_dir);

// Appends the finished run's line to the ledger and returns its place, "runs/ledger.jsonl:3";
// nothing for no ledger. Errors say that the run itself is safe.
Result<std::string> record_in_ledger(const std::string& ledger, const std::string& run_dir);

// A line that was asked for as LEDGER, LEDGER:LINE or the folder of a run.
struct LedgerPlace {
  std::string path;
  std::int64_t line = 0;  // 0: the last
};
Result<LedgerPlace> parse_ledger_place(const std::string& text);

// The line at that place. kNotFound where the file is not there, or is no ledger.
Result<std::string> read_place(const LedgerPlace& place);

}  // namespace broadloom::cli
