// A policy that a new run begins with: the network and the observation normaliser of another run.
#pragma once

#include <string>
#include <vector>

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

// kMismatch, with all that differs, where the run's spaces or network are not the policy's.
Status check_policy_fits(const InitialPolicy& policy, const Config& run);

// Differences between the policy's run and this one that change how it acts, or its critic's unit:
// the task, how observations are seen, how rewards are scaled. A sentence each.
std::vector<std::string> notes_on_policy(const InitialPolicy& policy, const Config& run);

// Gives a trainer that has not begun, and that the policy fits, its parameters and, where both
// normalise observations, its statistics; everything else stays new. Returns what was taken.
Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer);

}  // namespace broadloom
