// The audit of a run: what `broadloom audit` does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "research/audit/checks.h"

namespace broadloom {

struct AuditOptions {
  int iterations = 0;  // K to measure; 0: enough for every environment's episode to end, where that
                       // is affordable
  int threads = 1;
  Overrides machine;  // keys such as device in the place of the run's own: config/machine.h
};

struct AuditReport {
  std::string env_id;
  int num_envs = 0, num_steps = 0;
  std::int64_t global_step = 0;    // of the policy that was looked at
  int iterations = 0;              // measured here
  int logged = 0;                  // measured by the instrument while the run was trained
  std::vector<std::string> notes;  // on how it was done
  std::vector<AuditFinding> findings;
};

// Restores the newest checkpoint of a run folder, or a checkpoint file, goes on with it in memory
// for K iterations with the instrument "audit" measuring each, and judges what those, the config
// and the logs say. Writes nothing. Where the schedule has fewer than K iterations left, the
// learning rate stays where it is. A run that cannot go on (a loss that is not finite) is a
// finding. Findings do not depend on threads. Errors: kNotFound, kIo, kCorrupt, kMismatch of the
// checkpoint or the logs; kInvalidConfig of options.
Result<AuditReport> audit_run(const std::string& run_or_checkpoint, const AuditOptions& options);

// Judges what the instrument "audit" logged while the run in this folder was trained, without going
// on with it. report.logged is 0 where it was not on. Errors as read_logged_run,
// open_started_run and facts_of.
Result<AuditReport> audit_logs(const std::string& run_dir);

}  // namespace broadloom
