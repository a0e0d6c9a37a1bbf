// Collects a trainer's blocks and learns from them: on the CPU, alone or with other ranks, or on
// GPUs. The core loop calls only this interface.
#pragma once

#include <cstdint>
#include <memory>

#include "broadloom/config/config.h"
#include "broadloom/core/exchange.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/collector.h"
#include "broadloom/rollout/value_normalizer.h"
#include "broadloom/train/device.h"
#include "broadloom/train/run_time.h"

namespace broadloom {

class Trainer;

// The trainer's parts that a backend uses. All outlive it.
struct BackendSetup {
  const Config& config;
  const ActorCritic& network;
  VecEnv& envs;
  Learner& learner;
  RolloutBlock& block;
  Collector& collector;
  ObsNormalizers normalizers;
  ThreadPool& pool;
  Ranks& ranks;
  ValueNormalizer* value_norm;  // or null
};

class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  Ranks& ranks() { return setup_.ranks; }
  Exchange& exchange() { return exchange_; }
  virtual Algorithm& algorithm() = 0;
  // The training device, or null for the CPU.
  virtual const Device* device() const { return nullptr; }

  // Changes the block's shape to that of `now`, a phase of the config.
  virtual void reshape(const Config& now) = 0;
  // Fills the block, starting at the clock's environment step. is_watched: instruments observe the
  // block's update, so it must not begin early.
  virtual Status fill_block(const RunClock& clock, bool is_watched) = 0;
  // Fills the block's bootstrap values.
  virtual void bootstrap_values() = 0;

  // Whether other processes or a device step environments, so that their states must be gathered.
  virtual bool steps_elsewhere() const { return false; }
  // Brings the trainer's environments to their state after that iteration.
  virtual Status gather_environments(std::int64_t /*iteration*/) { return {}; }
  // Updates the trainer's state, except what the environments save themselves.
  virtual Status capture(std::int64_t /*iteration*/) { return {}; }
  // Called after the trainer's environments began new episodes.
  virtual void environments_replaced() {}
  // Called after the trainer's state was overwritten with that of this iteration.
  virtual void state_restored(std::int64_t /*iteration*/) {}

  // Copies the first rank's trainer state to all ranks.
  Status copy_first_rank_state(Trainer& trainer);
  // Fails if ranks have different parameters.
  Status compare_params();

 protected:
  explicit Backend(const BackendSetup& setup) : setup_(setup), exchange_(setup.ranks) {}

  // Gives every rank the states of the environments that others step. Environments that are never
  // stepped or at rest are the same on all ranks.
  Status share_environments();
  // Fails unless they were shared after `iteration`, since `shared`.
  static Status check_shared(std::int64_t shared, std::int64_t iteration);

  BackendSetup setup_;

 private:
  Exchange exchange_;
};

// A backend on the CPU, as one of the setup's ranks.
std::unique_ptr<Backend> make_host_backend(const BackendSetup& setup);

// A backend on the config's device, as one of the setup's ranks. Fails as make_device() does.
Result<std::unique_ptr<Backend>> make_device_backend(const BackendSetup& setup);

}  // namespace broadloom
