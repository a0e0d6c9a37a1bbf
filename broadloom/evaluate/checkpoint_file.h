// A checkpoint as it was read: tensors, configuration and how long the logs were.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"

namespace broadloom {

// How long the run's logs were when a checkpoint was saved: what a resume cuts them back to.
struct LogBytes {
  std::int64_t metrics = 0;
  std::int64_t eval = 0;
  std::int64_t events = 0;
  std::string events_file;  // whose length that is, its name in the run's folder; "": not said
};

// Before a key of the configuration, in a checkpoint's metadata.
inline constexpr char kConfigPrefix[] = "config.";

struct Checkpoint {
  SafetensorsFile file;
  Config config;
  LogBytes logs;
  std::string hash;  // of the file's bytes
};

// Whether the file's tensors are as large as the network and the environments of that
// configuration: asked before memory is taken for them. kMismatch.
Status check_sizes(const SafetensorsFile& file, const Config& config, const EnvSpec& spec);

// Reads and checks a checkpoint. kNotFound, kIo or kCorrupt; the last also for parameters and
// statistics of normalisers that no training leaves.
Result<Checkpoint> read_checkpoint(const std::string& path);
// The same of one that was looked for: kCorrupt then says what to remove, and what will be used.
Result<Checkpoint> read_checkpoint(const FoundCheckpoint& found);
// Says so in an error that came up when its tensors were taken; other kinds stay as they are.
Status with_way_out(const Status& status, const FoundCheckpoint& found);

}  // namespace broadloom
