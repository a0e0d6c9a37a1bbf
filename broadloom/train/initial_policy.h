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
  PolicySource source;           // of the whole checkpoint
  bool takes_optimizer = false;  // and the statistics that scale rewards
};

// The source of a policy that was read from that path. kCorrupt.
Result<PolicySource> policy_source(const Checkpoint& checkpoint, const std::string& path);

// Reads the newest checkpoint of a run, or a checkpoint file. kNotFound, kIo or kCorrupt.
Result<InitialPolicy> read_initial_policy(const std::string& run_or_checkpoint,
                                          bool takes_optimizer = false);

// kMismatch, naming all differences, if the run's spaces or network differ from the policy's, or,
// with takes_optimizer, its algorithm.
Status check_policy_fits(const InitialPolicy& policy, const Config& run);

// Differences between the policy's run and this one that change its actions or its critic's unit:
// task, observation normalisation, reward scaling; and the state that comes with its optimiser. One
// sentence each.
std::vector<std::string> notes_on_policy(const InitialPolicy& policy, const Config& run);

// Copies the policy's parameters into a new trainer that it fits, and its observation statistics if
// both normalise observations. With takes_optimizer also copies Adam's moments and step count, the
// reward statistics if both scale rewards, and the learning rate if both adapt it. Returns the
// source of what was copied.
Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer);

}  // namespace broadloom
