// Reads a checkpoint: tensors, configuration, and the lengths of the logs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"

namespace broadloom {

// Lengths of the run's logs when the checkpoint was saved. A resume cuts the logs to them.
struct LogBytes {
  std::int64_t metrics = 0;
  std::int64_t eval = 0;
  std::int64_t events = 0;
  std::string events_file;  // in the run's folder, with `events` bytes; "": not recorded
};

// Prefix of the configuration's keys in a checkpoint's metadata.
inline constexpr char kConfigPrefix[] = "config.";
// Key of the description of environments that are not of the library (spec_json()).
inline constexpr char kSpecKey[] = "spec";

struct Checkpoint {
  SafetensorsFile file;
  Config config;
  LogBytes logs;
  std::string hash;                 // of the file's bytes
  std::optional<EnvSpec> own_spec;  // as trained; none for environments of the library
};

// Checks that the tensors have the sizes of this configuration's network and environments, before
// memory is allocated for them. kMismatch.
Status check_sizes(const SafetensorsFile& file, const Config& config, const EnvSpec& spec);

// Reads and checks a checkpoint. kNotFound, kIo or kCorrupt; the last also for parameters and
// normaliser statistics that no training leaves. Describes its environments to the registry
// (described_environment.h), unless they are registered.
Result<Checkpoint> read_checkpoint(const std::string& path);
// The same from the bytes of a file. path: for messages.
Result<Checkpoint> parse_checkpoint(std::string bytes, const std::string& path);
// The same for a checkpoint that was searched for; kCorrupt also says what to do.
Result<Checkpoint> read_checkpoint(const FoundCheckpoint& found);
// Adds to a kCorrupt error of such a checkpoint what to do; other errors stay as they are.
Status with_advice(const Status& status, const FoundCheckpoint& found);

}  // namespace broadloom
