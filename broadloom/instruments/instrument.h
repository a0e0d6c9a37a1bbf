// Interface of an instrument of a training run: it reads an iteration, and reports named numbers.
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

// Requirements of an instrument, in addition to the block that every run has.
struct InstrumentNeeds {
  bool probe = false;       // the probe states of probe_states.h
  bool policy = false;      // a policy that PolicySampler draws from, or action values
  bool one_value = false;   // one value per observation, without a second one for intrinsic rewards
  bool one_policy = false;  // that collects the whole block, without SAPG's followers
};

// Facts about a run before it starts. The network must outlive the instrument.
struct InstrumentSetup {
  const ActorCritic& network;
  int num_steps = 0;         // T
  int num_envs = 0;          // N
  int most_envs = 0;         // all environments; N is fewer while shape_schedule steps only a part
  int observation_size = 0;  // D
  int action_size = 0;       // A
  SpaceKind observation_kind = SpaceKind::kBox;
  int threads = 1;               // size of the pool
  std::span<const float> probe;  // [rows, D], see probe_states.h; empty if no instrument needs it
  std::span<const float> critic_probe = {};  // the critic's own observations of the probe; or empty
  int families = 0;                          // F, of the N environments
  Space action;
  double gamma = 0.0, gae_lambda = 0.0;
  GaeWeights gae_weights = GaeWeights::kGeometric;
  TruncationMode truncation_mode = TruncationMode::kBootstrap;
  // Limit at which numbers in the block are clipped; 0 if they are not normalised.
  double clip_obs = 0.0, clip_reward = 0.0;
  int context_size = 0;     // size of EnvSpec::context
  bool draws_vary = false;  // whether every stratum has a constant that differs between episodes
  int sequence = 0;         // L, steps of a sequence of a network with memory; 0: num_steps
};

// The data of an iteration. Views are valid during the call only.
struct InstrumentView {
  std::int64_t iteration = 0;  // 1 is the first
  const ActorCritic& network;
  const RolloutBlock& block;             // with its advantages
  std::span<const float> params;         // [P] current parameters
  std::span<const float> params_before;  // [P] before the update: these collected the block
  // Before the update, the normaliser of the block's observations. After the update, that of the
  // next block. Null if observations are not normalised.
  const ObsNormalizer* obs_normalizer = nullptr;
  ThreadPool& pool;              // idle, so instruments may use it
  const VecEnv* envs = nullptr;  // in their state after the block
  std::int64_t env_step = 0;     // steps so far of an environment that every block stepped
  const ObsNormalizer* critic_normalizer = nullptr;  // likewise of the critic's own observations
};

// Measures an iteration of training without changing it. The parameters have the same bits with and
// without instruments. The constructor allocates all memory; nothing is allocated after the first
// iteration that it measures.
class Instrument {
 public:
  virtual ~Instrument() = default;
  // Called before every update, measured or not: for sums over a whole run.
  virtual void every_block(const InstrumentView&) {}
  // Called before the update of a measured iteration; view.params equals params_before.
  virtual void before_update(const InstrumentView& view) = 0;
  // The observer of a measured update; null: none.
  virtual UpdateObserver* observer() { return nullptr; }
  // Called after the update of a measured iteration.
  virtual void after_update(const InstrumentView& view) = 0;
  // Reports the numbers of the last measured iteration, always with the same names in the same
  // order. The instrument's static declare_numbers() declares each of them, as it is or as a form.
  virtual void visit_numbers(const NumberVisitor& visit) const = 0;
  // State that every_block() accumulates, for checkpoints; no other state may outlast an iteration.
  // Its shapes do not depend on N and T, because a new instrument takes it over if a schedule
  // changes those.
  virtual void append_state(const std::string&, std::vector<TensorRef>&) {}
};

// Implements an instrument's declare_numbers() from the visit() of a struct of numbers.
template <class Numbers>
void declare_numbers_of(const InfoVisitor& declare) {
  Numbers().visit([&](const NumberInfo& info, double) { declare(info); });
}

}  // namespace broadloom
