// A policy that can act: network, parameters, normalisers, spaces, and its origin.
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
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

struct PolicyOrigin {
  std::string run_dir;     // as given; "": no run folder
  std::string checkpoint;  // path; "": none, the present policy of a trainer
  std::string hash;        // of that file's bytes
  std::int64_t iteration = 0, global_step = 0;
  // Mean return as last reported by training; NaN before the first episode.
  double training_return = std::numeric_limits<double>::quiet_NaN();
};

// Views into a trainer or a LoadedPolicy, which must outlive it.
struct Policy {
  const Config& config;  // of the run
  const EnvSpec& spec;   // of its environments
  const ActorCritic& network;
  const float* params;                            // [P]
  const ObsNormalizer* obs_norm = nullptr;        // null: raw observations
  const RewardNormalizer* reward_norm = nullptr;  // null: raw rewards
  PolicyOrigin origin = {};
  // for observations of the critic only; not needed to act
  const ObsNormalizer* critic_norm = nullptr;
  const ValueNormalizer* value_norm = nullptr;  // null: the critic outputs values
};

// Whether environments are named by EnvSpec::upstream. The library's are named by their id, and a
// plug-in's by its hash.
bool is_named_by_source(const EnvSpec& spec);

// A change of environments since a policy was trained.
struct EnvChange {
  bool is_of_engine = false;
  std::string text;
};

// Another source or engine, or new bounds, first choices or masks of the environments that are
// registered under a checkpoint's id; none if config has another id.
std::vector<EnvChange> changes_since(const Checkpoint& checkpoint, const Config& config);
// kMismatch if environments of another source are registered under a checkpoint's id, in which its
// run cannot go on. Another version of a package is the same source.
Status check_source(const Checkpoint& checkpoint);

// The policy's actor, as for the next block of its run. The policy must outlive it.
std::unique_ptr<Actor> make_actor(const Policy& policy);

// The spaces of a policy whose environment is registered with others than it was trained on.
enum class PolicySpaces {
  kRegistered,  // other shapes are refused, as the policy cannot play there; changes are noted
  kTrained,     // those of the checkpoint, for policies that act outside of environments
};

// A policy from a checkpoint, without block, optimiser or environments. Reading needs twice the
// file's size in memory; afterwards it holds only the network.
class LoadedPolicy {
 public:
  // Always computes in float32, even if the run trained in tf32. kNotFound, kIo, kCorrupt;
  // kMismatch if the tensors do not fit the configuration, or the registered environments have
  // other spaces.
  static Result<std::unique_ptr<LoadedPolicy>> load(
      const FoundCheckpoint& found, PolicySpaces spaces = PolicySpaces::kRegistered);
  // The same from a checkpoint that was read from there.
  static Result<std::unique_ptr<LoadedPolicy>> load(const FoundCheckpoint& found,
                                                    const Checkpoint& checkpoint,
                                                    PolicySpaces spaces);

  // A copy of a policy that may change, such as a trainer's.
  static std::unique_ptr<LoadedPolicy> copy(const Policy& policy);
  // An empty policy to fill by state(), for a config as to_overrides() writes it. spec: spec_json()
  // of own_spec(), for environments that may not be registered; or "".
  static Result<std::unique_ptr<LoadedPolicy>> make(const Overrides& config,
                                                    const std::string& spec);

  Policy view() const;
  // The environment's own spec in training, if another is registered now; else null.
  const EnvSpec* changed_spec() const { return changed_ ? &*changed_ : nullptr; }
  // changes_since(), with which the policy plays (PolicySpaces::kRegistered); "": none.
  const std::string& note() const { return note_; }
  // Views of all that acting needs. Call state_restored() after writing to them.
  std::vector<TensorRef> state();
  void state_restored();

 private:
  LoadedPolicy(const Config& config, const EnvSpec& spec);
  Status read(const SafetensorsFile& file);

  Config config_;
  EnvSpec spec_;
  std::optional<EnvSpec> changed_;  // see changed_spec()
  std::string note_;
  ActorCritic network_;
  AlignedVector<float> params_;
  std::optional<ObsNormalizer> obs_norm_, critic_norm_;
  std::optional<RewardNormalizer> reward_norm_;
  std::optional<ValueNormalizer> value_norm_;
  PolicyOrigin origin_;
};

}  // namespace broadloom
