// A run that was started before: its folder, manifest and config. Checks its logs and makes it
// longer.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"

namespace broadloom {

// config: that of the manifest.
struct StartedRun {
  RunFolder folder;
  Manifest manifest;
  Config config;
};

// kNotFound without a run; kIo and kCorrupt for its manifest; the errors of resolve_record().
Result<StartedRun> open_started_run(const std::string& run_dir);

// The record's value for a run's bits: "common" if every processor and device gives them, "own" if
// isa, precision or simulator changes them, "none" if they cannot be reproduced.
std::string bits_of(const Config& config, const std::string& isa, const VecEnvTraits& simulator);

// Makes the run longer: changes config and manifest in memory. A value that falls stays at its end,
// and the old total becomes schedule_timesteps. kInvalidConfig if nothing would be learnt there,
// with shape_schedule, or if the total is smaller or adds no block. The message says what to do.
Status make_longer(StartedRun& run, std::int64_t total_timesteps);

// Changes stop_at_return in memory; false: it is the same. kInvalidConfig if the run may have
// passed the new one before.
Result<bool> change_stop(StartedRun& run, const OptionalNumber& stop);

// Checks that metrics.jsonl and eval.jsonl have these bytes, in whole lines of JSON objects.
// kCorrupt names the file and how to continue without it. Reads both files whole.
Status check_kept_logs(const RunFolder& folder, const LogBytes& logs);

// Checks that hashes.bin has that many complete records. Reads them all.
Status check_kept_hashes(const RunFolder& folder, std::int64_t iterations);

// Missing bytes of metrics.jsonl and eval.jsonl, compared with the checkpoint.
std::int64_t lost_log_bytes(const RunFolder& folder, const LogBytes& logs);

// Adds to a kCorrupt message how to continue without the log; other statuses do not change.
Status with_new_run_advice(const Status& status, const RunFolder& folder);

}  // namespace broadloom
