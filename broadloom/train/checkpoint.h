// Saves a trainer to one safetensors file, and puts it back: training goes on with the bits of a
// run that never stopped.
//
//   BROADLOOM_TRY(save_checkpoint("run.safetensors", trainer, {}));
//
//   Result<Checkpoint> checkpoint = read_checkpoint("run.safetensors");
//   if (!checkpoint.ok()) return checkpoint.status();
//   Result<std::unique_ptr<Trainer>> made = Trainer::create(checkpoint.value().config, threads);
//   if (!made.ok()) return made.status();
//   BROADLOOM_TRY(restore(checkpoint.value(), *made.value()));
//
// A file holds parameters, optimiser, normalisers, environments and counters: some three times the
// parameters, and the state of N environments. docs/formats/checkpoint.md has its format.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// Writes the file beside its place and renames it, so that a killed process leaves the old one.
// logs: how long the run's logs are; {} where there are none. kIo where it cannot be written, and
// the environments' own error where they cannot show their state (VecEnv::capture()); the file is
// then as it was.
Status save_checkpoint(const std::string& path, Trainer& trainer, const LogBytes& logs);

// Whether the checkpoint is of a run of that configuration, and as large: asked before a trainer is
// made for it. kMismatch; the errors of env_spec().
Status check_belongs(const Checkpoint& checkpoint, const Config& config);

// Puts the trainer into the checkpoint's state. kMismatch, with the first difference named, where
// the two differ in configuration or shapes, and kCorrupt where a number is outside of its range
// (TensorRef::ranges); the trainer is as it was then. The environments' own
// error where they cannot take their state back, or do not save it and cannot begin anew.
Status restore(const Checkpoint& checkpoint, Trainer& trainer);

}  // namespace broadloom
