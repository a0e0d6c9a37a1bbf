// What a run's config, record and logs say to the audit.
#pragma once

#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"
#include "research/audit/checks.h"

namespace broadloom {

// metrics.jsonl as far as the audit reads it.
struct LoggedRun {
  std::vector<double> iterations, learning_rates, approx_kls, lengths;  // [lines]
  std::vector<AuditNumbers> audit;                                      // of lines that have them
};
// Empty where the file is not there yet. kIo; kCorrupt where a line is no metrics line.
Result<LoggedRun> read_logged_run(const RunFolder& folder);

// What the config says and makes, what the logs say of schedules and updates, and which random
// streams training and the run's evaluations take: those of eval.jsonl and eval_command.jsonl and,
// where ledger_line.json is there, those that it names. folder: none for a checkpoint file alone.
// The environments are made once more, to compare what they draw for their first episodes with what
// evaluations draw. Errors as make_vec_env; kIo and kCorrupt of the folder's files, any of which
// may be missing.
Result<RunFacts> facts_of(const Config& config, const RunFolder& folder, const LoggedRun& logged);

}  // namespace broadloom
