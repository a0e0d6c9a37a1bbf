// What acts: a network and its parameters, the normalisers it was trained under, the spaces it
// fits, and where it came from.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/spec.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

struct PolicyOrigin {
  std::string run_dir;     // as it was named; "": no run's folder
  std::string checkpoint;  // its path; "": none, a trainer's policy as it is
  std::string hash;        // of that file's bytes
  std::int64_t iteration = 0, global_step = 0;
  // Mean return as training reported it last; not a number before the first episode.
  double training_return = std::numeric_limits<double>::quiet_NaN();
};

// Views into a trainer or a LoadedPolicy, which must outlive it.
struct Policy {
  const Config& config;  // of the run
  const EnvSpec& spec;   // of its environments
  const ActorCritic& network;
  const float* params;                            // [P]
  const ObsNormalizer* obs_norm = nullptr;        // null: observations as they are
  const RewardNormalizer* reward_norm = nullptr;  // null: rewards as they are
  PolicyOrigin origin = {};
  const ObsNormalizer* critic_norm = nullptr;  // of what only the critic reads; acting needs none
};

// How it acts, as it would in the next block of its run. What the policy shows must outlive it.
std::unique_ptr<Actor> make_actor(const Policy& policy);

// A policy from a checkpoint: what it takes to act, and no block, optimiser or environments. Costs
// twice the checkpoint's file while it is read, and the memory of the network after that.
class LoadedPolicy {
 public:
  // It computes in float32, also where the run trained in tf32. kNotFound, kIo, kCorrupt; kMismatch
  // where the checkpoint's tensors are not those of its configuration.
  static Result<std::unique_ptr<LoadedPolicy>> load(const FoundCheckpoint& found);

  Policy view() const;

 private:
  LoadedPolicy(const Config& config, const EnvSpec& spec);
  Status read(const SafetensorsFile& file);

  Config config_;
  EnvSpec spec_;
  ActorCritic network_;
  AlignedVector<float> params_;
  std::optional<ObsNormalizer> obs_norm_, critic_norm_;
  std::optional<RewardNormalizer> reward_norm_;
  PolicyOrigin origin_;
};

}  // namespace broadloom
