// Finds, writes and reads a run's line in a ledger.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// The path of the run's ledger: `requested`, or ledger.jsonl beside the run's folder if that is "".
// Returns "" (no ledger) for "none".
std::string ledger_of_run(const std::string& requested, const std::string& run_dir);

// Appends the finished run's line to the ledger and returns its place, "runs/ledger.jsonl:3"; ""
// if there is no ledger or the run is a rerun. Errors say that the run itself is saved.
Result<std::string> record_in_ledger(const std::string& ledger, const std::string& run_dir);

// A line given as LEDGER, LEDGER:LINE or the folder of a run.
struct LedgerPlace {
  std::string path;
  std::int64_t line = 0;     // 0: the last
  std::string run_dir = {};  // of a run's own line; "": none
};
Result<LedgerPlace> parse_ledger_place(const std::string& text);

// The line at that place. kNotFound if there is no such file or it is no ledger.
Result<std::string> read_place(const LedgerPlace& place);

}  // namespace broadloom::cli
