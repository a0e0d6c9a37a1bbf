// Checkpoints of a trainer: one safetensors file with every bit needed to go on.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// How long the run's logs were when a checkpoint was saved: what a resume cuts them back to.
struct LogBytes {
  std::int64_t metrics = 0;
  std::int64_t eval = 0;
  std::int64_t events = 0;
};

Status save_checkpoint(const std::string& path, Trainer& trainer, const LogBytes& logs);

struct Checkpoint {
  SafetensorsFile file;
  Config config;
  LogBytes logs;
};

// Reads and checks a checkpoint; kNotFound, kIo or kCorrupt.
Result<Checkpoint> read_checkpoint(const std::string& path);
// The same of one that was looked for: kCorrupt then says what to remove, and what will be used.
Result<Checkpoint> read_checkpoint(const FoundCheckpoint& found);

// Puts the trainer into the checkpoint's state. kMismatch, with the first difference named, where
// the two differ in configuration or shapes; the trainer is as it was then.
Status restore(const Checkpoint& checkpoint, Trainer& trainer);

}  // namespace broadloom
