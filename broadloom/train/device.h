// The interface of a device that collects and learns instead of the CPU, and the registry of
// devices. The library has none; cuda/ provides one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/ranks.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

// The parts of a block that the device sends to the CPU.
enum class BlockParts {
  kForReports,  // rewards, terminated, truncated, ends, values; intrinsic ones
  kAll,
};

// An algorithm whose environments, block, parameters and moments are on a device. The CPU has
// copies, which are updated on request. Environments without kernels are stepped by the CPU, with
// actions that the device chooses. All bits equal those of the CPU's collector, environments
// and algorithm, except with precision = tf32, which the CPU does not have.
class Device : public Algorithm {
 public:
  // The device's name, for records.
  virtual const std::string& name() const = 0;
  // Device memory that it holds, bytes.
  virtual std::size_t memory_bytes() const = 0;

  // Copies parameters, moments and environments to the device. Called before the first block, and
  // whenever the CPU's copies were overwritten. envs: those of the setup.
  virtual Status take_state(const Learner& learner, VecEnv& envs) = 0;
  // Copies the environments alone, which began new episodes.
  virtual Status take_environments(VecEnv& envs) = 0;

  // Changes the block's shape to that of `now`, a phase of the setup's config. Before the first
  // call, blocks have the shape of the first phase. Environments beyond N keep their state.
  // Allocates no device memory.
  virtual void reshape(const Config& now) = 0;

  // Starts to collect a block at environment step first_step of the run. After await_block(),
  // `block` has the given parts with raw rewards, and the setup's normalizers have its sums.
  // await_block() fails like the CPU's collector.
  virtual Status collect(std::int64_t first_step, BlockParts parts, RolloutBlock& block) = 0;
  virtual Status await_block(std::int64_t first_step) = 0;

  // Optional, after collect(): starts the work of update() early, while the CPU reads the block. If
  // the CPU must first do something, only the minibatches are drawn. Only for updates without an
  // observer. Nothing is learnt from a failed block.
  virtual void begin_update(std::uint64_t seed, std::int64_t iteration, const Learner& learner) = 0;

  // Whether the host steps the environments, since they have no kernels. Their state never leaves
  // it.
  virtual bool steps_on_host() const { return false; }

  // Copies moments or environments from the device to the CPU, where they can then be used and
  // captured. Each update() returns parameters.
  virtual Status bring_moments(Learner& learner) = 0;
  virtual Status bring_environments(VecEnv& envs) = 0;

  // update() takes all its steps and fails if one of them would have failed. The learner then has
  // its state before the update, and collect() fails until take_state().

  // Computes targets of the last block from the CPU's rewards, which may be scaled. Writes the
  // advantages to `block`.
  void take_block(const Learner& learner, RolloutBlock& block) override = 0;
  void compute_targets(RolloutBlock&, int, int) const final {}
};

// Arguments of a device, which must outlive it.
struct DeviceSetup {
  const Config& config;
  const ActorCritic& network;
  VecEnv& envs;
  ThreadPool& pool;  // steps environments that have no kernels
  ObsNormalizers normalizers = {};
  ValueNormalizer* values = nullptr;  // null: the critic's outputs are values
  // Processes that train the run together, each with a device of its own. As on the CPU, all have
  // whole blocks and whole gradients.
  Ranks& ranks = Ranks::alone();
};

// Fails if the config is not supported, if the machine has no device, or if the device has too
// little memory.
using DeviceMaker = std::function<Result<std::unique_ptr<Device>>(const DeviceSetup&)>;

// Registers a device under a value of the key `device`; does nothing if the name is taken. Any
// thread may call it, but register before a trainer is made.
void register_device(const std::string& name, DeviceMaker make);

// kInvalidConfig unless the name is `cpu` or registered; the message says how to get it. Does not
// check that the machine has the device.
Status check_knows_device(const std::string& name);

// Makes the config's device; null for `cpu`. kInvalidConfig if the name is not registered, or for
// other faults of the maker.
Result<std::unique_ptr<Device>> make_device(const DeviceSetup& setup);

}  // namespace broadloom
