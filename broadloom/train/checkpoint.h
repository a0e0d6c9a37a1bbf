// Saves a trainer to one safetensors file and restores it. A resumed run has the bits of an
// uninterrupted run.
//
//   BROADLOOM_TRY(save_checkpoint("run.safetensors", trainer, {}));
//
//   Result<Checkpoint> checkpoint = read_checkpoint("run.safetensors");
//   if (!checkpoint.ok()) return checkpoint.status();
//   Result<std::unique_ptr<Trainer>> made = Trainer::create(checkpoint.value().config, threads);
//   if (!made.ok()) return made.status();
//   BROADLOOM_TRY(restore(checkpoint.value(), *made.value()));
//
// A file holds parameters, optimiser, normalisers, environments and counters: about three times the
// parameters, and the state of N environments. Its format: docs/formats/checkpoint.md.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// Writes the file atomically, so that a killed process leaves the old one. logs: lengths of the
// run's logs; {} without logs. kIo if it cannot be written, and the environments' error if they
// cannot save their state (VecEnv::capture()). On failure the old file stays.
Status save_checkpoint(const std::string& path, Trainer& trainer, const LogBytes& logs);

// Checks, before a trainer is made, that the checkpoint belongs to a run with that configuration
// and its sizes. kMismatch; the errors of env_spec().
Status check_belongs(const Checkpoint& checkpoint, const Config& config);

// Restores the trainer's state. kMismatch, naming the first difference, if configuration or shapes
// differ; kCorrupt if a number is outside its range (TensorRef::ranges). In both cases the trainer
// does not change. The environments' error if they cannot restore their state, or do not save it
// and cannot begin new episodes.
Status restore(const Checkpoint& checkpoint, Trainer& trainer);

}  // namespace broadloom
