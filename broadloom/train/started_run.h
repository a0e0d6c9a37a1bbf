// A run that was started before: its folder, manifest and config; whether its logs are still whole;
// and how it is made longer.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"

namespace broadloom {

// What a run was started as; config: that of its manifest.
struct StartedRun {
  RunFolder folder;
  Manifest manifest;
  Config config;
};

// kNotFound where there is no run; kIo and kCorrupt of its manifest; the errors of resolve_record.
Result<StartedRun> open_started_run(const std::string& run_dir);

// What the record says of a run's bits: "common" where every processor and device would give the
// same, "own" where isa, precision or simulator make them its own, "none" where they do not come
// again.
std::string bits_of(const Config& config, const std::string& isa, const VecEnvTraits& simulator);

// Makes the run longer, in memory: config and manifest. What the run has learnt must be what it
// would have from the start: kInvalidConfig, with what to do, where something falls over its total,
// or where the total is less or makes no block more.
Status make_longer(StartedRun& run, std::int64_t total_timesteps);

// That metrics.jsonl and eval.jsonl have so many bytes, whole lines each a JSON object. kCorrupt
// names the file, and how to go on without it. Reads them whole.
Status check_kept_logs(const RunFolder& folder, const LogBytes& logs);

// That hashes.bin has so many whole records. Reads them all.
Status check_kept_hashes(const RunFolder& folder, std::int64_t iterations);

// Bytes of metrics.jsonl and eval.jsonl that the checkpoint was saved with and that are gone.
std::int64_t lost_log_bytes(const RunFolder& folder, const LogBytes& logs);

// kCorrupt of a log, with the way to go on without it; any other status as it is.
Status with_way_on(const Status& status, const RunFolder& folder);

}  // namespace broadloom
