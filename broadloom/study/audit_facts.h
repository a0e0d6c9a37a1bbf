// What a run's config, record and logs say to the audit.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/instruments/audit/checks.h"
#include "broadloom/train/config.h"

namespace broadloom {

// metrics.jsonl as far as the audit reads it.
struct LoggedRun {
  std::vector<double> iterations, learning_rates, approx_kls, lengths;  // [lines]
  std::vector<AuditNumbers> audit;                                      // of lines that have them
};
// Empty where the file is not there yet. kIo; kCorrupt where a line is no metrics line.
Result<LoggedRun> read_logged_run(const std::string& run_dir);

// What the config alone says, and makes: its environments are made once more, to compare what they
// draw for their first episodes with what evaluations draw. Errors as make_vec_env.
Result<RunFacts> facts_of(const Config& config);

// Adds what the logs say of schedules and updates.
void add_logged_facts(const LoggedRun& logged, const Config& config, RunFacts& facts);

// Adds which random streams training and the run's evaluations take: those of eval.jsonl and, where
// ledger_line.json is there, those that it names. Whatever there is may be missing; kCorrupt where
// it is no JSON, kIo.
Status add_stream_facts(const std::string& run_dir, const Config& config, RunFacts& facts);

}  // namespace broadloom
