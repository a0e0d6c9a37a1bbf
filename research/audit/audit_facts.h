// Facts about a run from its config, record and logs, for the audit.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"
#include "research/audit/checks.h"

namespace broadloom {

// The numbers of metrics.jsonl that the audit reads.
struct LoggedRun {
  std::vector<double> iterations, learning_rates, approx_kls, lengths;  // [lines]
  std::vector<AuditNumbers> audit;  // of the lines that have them
};
// Empty if the file does not exist yet. kIo; kCorrupt if a line is not a line of metrics.
Result<LoggedRun> read_logged_run(const RunFolder& folder);

// Gathers facts from the config, from the logged schedules and updates, and from the random streams
// of training and evaluations: those in eval.jsonl, eval_command.jsonl and ledger_line.json.
// folder: empty for a checkpoint file alone; any file may be missing. Makes the environments again,
// to compare the first episodes of training with those of evaluations. Errors: those of
// make_vec_env; kIo and kCorrupt of the files.
Result<RunFacts> facts_of(const Config& config, const RunFolder& folder, const LoggedRun& logged);

}  // namespace broadloom
