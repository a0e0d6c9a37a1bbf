// Where a trainer's blocks are collected and learnt from: on the host's processor, alone or with
// other ranks, or on a device. The core loop calls this one interface and knows no more.
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
#include "broadloom/train/device.h"
#include "broadloom/train/run_time.h"

namespace broadloom {

class Trainer;

// The trainer's parts that a backend works with, all of which outlive it.
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
};

class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  Ranks& ranks() { return setup_.ranks; }
  Exchange& exchange() { return exchange_; }
  virtual Algorithm& algorithm() = 0;
  // Null: the host's processor learns.
  virtual const Device* device() const { return nullptr; }

  // Blocks are of the shape of `now` from here on, a phase of the config.
  virtual void reshape(const Config& now) = 0;
  // Fills the block, from the clock's environment step on. is_watched: instruments will look at the
  // block's update, which must not begin before they do.
  virtual Status fill_block(const RunClock& clock, bool is_watched) = 0;
  // Fills in the block's values of what follows it.
  virtual void bootstrap_values() = 0;

  // Whether the trainer's environments are stepped elsewhere, so that they must be gathered.
  virtual bool steps_elsewhere() const { return false; }
  // Brings the trainer's environments to where they are after that iteration.
  virtual Status gather_environments(std::int64_t /*iteration*/) { return {}; }
  // Brings the trainer's state up to date, but for the environments' own part of it.
  virtual Status capture(std::int64_t /*iteration*/) { return {}; }
  // The trainer's state was written into, and is that of this iteration.
  virtual void state_restored(std::int64_t /*iteration*/) {}

  // All ranks take over the state that the first one's trainer is in.
  virtual Status take_state_of_first(Trainer&) { return {}; }
  // Fails where ranks have come to different parameters.
  virtual Status compare_params() { return {}; }

 protected:
  explicit Backend(const BackendSetup& setup) : setup_(setup), exchange_(setup.ranks) {}

  BackendSetup setup_;

 private:
  Exchange exchange_;
};

// On the host's processor, as one of the setup's ranks.
std::unique_ptr<Backend> make_host_backend(const BackendSetup& setup);

// On the config's device. kInvalidConfig where there are several ranks; the errors of
// make_device().
Result<std::unique_ptr<Backend>> make_device_backend(const BackendSetup& setup);

}  // namespace broadloom
