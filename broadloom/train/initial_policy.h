// A policy that a new run begins with: the network and the observation normaliser of another run.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/manifest.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

struct InitialPolicy {
  Checkpoint checkpoint;
  PolicySource source;  // of all that the checkpoint holds
};

// The newest checkpoint of a run, or a checkpoint file. kNotFound, kIo or kCorrupt.
Result<InitialPolicy> read_initial_policy(const std::string& run_or_checkpoint);

// Gives a trainer that has not begun the policy's parameters and, where both normalise
// observations, its statistics; everything else stays new. Returns what was taken. kMismatch, with
// all that differs, where spaces or networks do; the trainer is as it was then.
Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer);

}  // namespace broadloom
