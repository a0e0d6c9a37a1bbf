// The audit of a run, as `broadloom audit` performs it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "research/audit/checks.h"

namespace broadloom {

inline constexpr int kMostAuditIterations = 1000000;

struct AuditOptions {
  int iterations = 0;  // K to measure; 0: 1.25 time limits; see docs/audit.md
  int threads = 1;
  Overrides machine;  // keys such as device that replace the run's: config/machine.h
  // May be empty. Called before each iteration with the number measured and K; false ends the
  // measuring.
  std::function<bool(int measured, int count)> keep_going = {};
};

struct AuditReport {
  std::string env_id;
  int num_envs = 0, num_steps = 0;
  std::int64_t global_step = 0;    // of the audited policy
  int iterations = 0;              // measured by the audit itself
  int asked = 0;                   // more, if keep_going or a numeric error ended the measuring
  int logged = 0;                  // measured by the instrument during training
  std::vector<std::string> notes;  // about how the audit was done
  std::vector<AuditFinding> findings;
};

// Restores the newest checkpoint of a run folder, or a checkpoint file, and continues it in memory
// for K iterations with the instrument "audit". Judges these, the config and the logs; writes
// nothing. If the schedule has fewer than K iterations left, the learning rate stays as it is. A
// non-finite loss is a finding. A run of several policies is not continued: checks of its blocks
// measure nothing, and a note says so. The result does not depend on threads. Errors: kNotFound,
// kIo, kCorrupt, kMismatch of the checkpoint or logs; kInvalidConfig of options.
Result<AuditReport> audit_run(const std::string& run_or_checkpoint, const AuditOptions& options);

// Judges the numbers that the instrument "audit" logged during training, without continuing the
// run. report.logged is 0 if it was off. Errors: those of read_logged_run, open_started_run and
// facts_of.
Result<AuditReport> audit_logs(const std::string& run_dir);

}  // namespace broadloom
