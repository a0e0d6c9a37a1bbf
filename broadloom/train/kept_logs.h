// Whether a run's logs are still what they were when its newest checkpoint was saved.
#pragma once

#include <cstdint>

#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"

namespace broadloom {

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
