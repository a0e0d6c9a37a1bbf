// The initial policy of a new run: network and observation normaliser of another run.
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
  PolicySource source;  // of the whole checkpoint
};

// Reads the newest checkpoint of a run, or a checkpoint file. kNotFound, kIo or kCorrupt.
Result<InitialPolicy> read_initial_policy(const std::string& run_or_checkpoint);

// kMismatch, naming all differences, if the run's spaces or network differ from the policy's.
Status check_policy_fits(const InitialPolicy& policy, const Config& run);

// Differences between the policy's run and this one that change its actions or its critic's unit:
// task, observation normalisation, reward scaling. One sentence each.
std::vector<std::string> notes_on_policy(const InitialPolicy& policy, const Config& run);

// Copies the policy's parameters into a new trainer that it fits, and its observation statistics if
// both normalise observations. Returns the source of what was copied.
Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer);

}  // namespace broadloom
