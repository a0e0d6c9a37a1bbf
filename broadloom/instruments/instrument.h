// What every instrument of a training run is: constant views of an iteration in, named numbers out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/learn/update_observer.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// What an instrument takes of a run, beside the block that every run has.
struct InstrumentNeeds {
  bool probe = false;   // the probe states of probe_states.h
  bool policy = false;  // a policy that actions are drawn from: PolicySampler's, and no other actor
  bool one_value = false;  // one value of an observation, and no second one of intrinsic rewards
};

// What is known of a run before it starts. The network must outlive the instrument.
struct InstrumentSetup {
  const ActorCritic& network;
  int num_steps = 0;         // T
  int num_envs = 0;          // N
  int most_envs = 0;         // environments that there are, where a schedule steps N of them now
  int observation_size = 0;  // D
  int action_size = 0;       // A
  SpaceKind observation_kind = SpaceKind::kBox;
  Dtype observation_dtype = Dtype::kF32;
  int threads = 1;               // of the pool
  std::span<const float> probe;  // [rows, D], see probe_states.h; empty where none asks for them
  std::span<const float> critic_probe = {};  // what only the critic reads of them; or empty
  int families = 0;                          // F, of the N environments
  Space action;
  double gamma = 0.0, gae_lambda = 0.0;
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  // Where a clipped number stands in the block; 0: they are not normalised.
  double clip_obs = 0.0, clip_reward = 0.0;
  int context_size = 0;     // numbers of EnvSpec::context
  bool draws_vary = false;  // whether every stratum has a constant that differs between episodes
};

// What there is to see in an iteration. Views hold during the call only.
struct InstrumentView {
  std::int64_t iteration = 0;  // 1 is the first
  const ActorCritic& network;
  const RolloutBlock& block;             // with its advantages
  std::span<const float> params;         // [P] now
  std::span<const float> params_before;  // [P] that collected the block: before the update
  // Before the update: the one that made the block's observations. After it: the one that the next
  // block will be seen through. Null when observations are not normalised.
  const ObsNormalizer* obs_normalizer = nullptr;
  ThreadPool& pool;              // idle, for work worth sharing out
  const VecEnv* envs = nullptr;  // as the block left them
  std::int64_t env_step = 0;     // of the run so far, of an environment that was always stepped
  const ObsNormalizer* critic_normalizer = nullptr;  // as obs_normalizer, of what only critics read
};

// Measures an iteration of training without changing it: the parameters have the same bits with and
// without instruments. All memory is taken when it is made; nothing is allocated after the first
// iteration that it measures.
class Instrument {
 public:
  virtual ~Instrument() = default;
  // Before the update of every iteration, measured or not: for what adds up over a whole run.
  virtual void every_block(const InstrumentView&) {}
  // Before the update of an iteration that is to be measured; view.params are params_before.
  virtual void before_update(const InstrumentView& view) = 0;
  // What is to watch such an update from inside; null: nothing.
  virtual UpdateObserver* observer() { return nullptr; }
  // After it.
  virtual void after_update(const InstrumentView& view) = 0;
  // The numbers of the iteration measured last: always the same names in the same order, each of
  // them one that the instrument's static declare_numbers() names, as it is or as a form.
  virtual void visit_numbers(const NumberVisitor& visit) const = 0;
  // What every_block() has added up, for checkpoints; nothing else may outlast an iteration. Its
  // shapes do not depend on N and T: where a schedule changes those, a new instrument takes it on.
  virtual void append_state(const std::string&, std::vector<TensorRef>&) {}
};

// For an instrument's declare_numbers(): what a struct of numbers declares in its visit().
template <class Numbers>
void declare_numbers_of(const InfoVisitor& declare) {
  Numbers().visit([&](const NumberInfo& info, double) { declare(info); });
}

}  // namespace broadloom
