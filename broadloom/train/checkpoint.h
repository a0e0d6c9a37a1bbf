// Checkpoints of a trainer: one safetensors file with every bit needed to go on.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// Fails as well where the environments cannot bring their state to light (VecEnv::capture); the
// file is then as it was.
Status save_checkpoint(const std::string& path, Trainer& trainer, const LogBytes& logs);

// Puts the trainer into the checkpoint's state. kMismatch, with the first difference named, where
// the two differ in configuration or shapes; the trainer is as it was then. Where the
// environments cannot take their state back, or do not save it and cannot begin anew, their error.
Status restore(const Checkpoint& checkpoint, Trainer& trainer);

}  // namespace broadloom
