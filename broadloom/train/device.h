// A device that collects and learns in the place of the host's processor: what the trainer asks of
// it, and those that a program has. The library has none of its own; cuda/ makes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// What the host reads of a block that a device keeps.
enum class BlockParts {
  kForReports,  // rewards, terminated, truncated, ends, values; intrinsic ones
  kAll,
};

// An algorithm whose environments, block, parameters and moments live on a device. Of those the
// host has copies, which it brings up to date when somebody asks for them. Everything has the bits
// that the host's collector, environments and algorithm give; with precision = tf32, whose products
// the host does not have, the device's own.
class Device : public Algorithm {
 public:
  // As it calls itself, for records.
  virtual const std::string& name() const = 0;
  // Of the device, that it holds.
  virtual std::size_t memory_bytes() const = 0;

  // Takes in parameters, moments and environments, from which the next block goes on: before the
  // first one, and whenever the host's copies were written into. envs: those of the setup.
  virtual Status take_state(const Learner& learner, VecEnv& envs) = 0;

  // Where a schedule changes the block's shape, no other device is made for it: blocks are as those
  // of `now` from here on, a phase of the setup's config, and before the first call as those of its
  // first phase. Environments beyond them rest as they are. Takes no memory of the device.
  virtual void reshape(const Config& now) = 0;

  // Starts with a block from environment step first_step of the run on. block: gets those parts,
  // its rewards raw, which are there after await_block(); then the setup's normalizer has what the
  // block adds to its statistics, too. That fails where and as the host's collector does.
  virtual Status collect(std::int64_t first_step, BlockParts parts, RolloutBlock& block) = 0;
  virtual Status await_block(std::int64_t first_step) = 0;

  // Between these two, or after them, or not at all: starts with what update() will be asked for,
  // so that the device is at it while the host reads the block; where something that the host does
  // first comes between, with the draw of its minibatches alone. Of a block whose update nobody
  // watches. From a block that turns out to have failed nothing is learnt.
  virtual void begin_update(std::uint64_t seed, std::int64_t iteration, const Learner& learner) = 0;

  // What is on the device into the host's copies. Parameters come with each update().
  virtual Status bring_moments(Learner& learner) = 0;
  virtual Status bring_environments(VecEnv& envs) = 0;

  // update() carries out all its steps, and fails where one of them would have failed: the learner
  // is as it was before the update then, and collect() fails until take_state().

  // Targets of the block that was collected last, from the rewards that the host's now has, which
  // may have been scaled. block: gets its advantages.
  void take_block(const Learner& learner, RolloutBlock& block) override = 0;
  void compute_targets(RolloutBlock&, int, int) const final {}
};

// What it is made from, which must outlive it.
struct DeviceSetup {
  const Config& config;
  const ActorCritic& network;
  VecEnv& envs;
  ObsNormalizer* normalizer = nullptr;  // null: observations are used as they are
};

// Fails where it cannot do what the config asks, where the machine has none, and where that has too
// little memory.
using DeviceMaker = std::function<Result<std::unique_ptr<Device>>(const DeviceSetup&)>;

// Makes a device known by the value of `device` that asks for it; a name that is known already is
// left as it is. Any thread may call it, but register before a trainer is made.
void register_device(const std::string& name, DeviceMaker make);

// Whether this program has it, or `cpu` is asked for: kInvalidConfig where not, with how to get it.
// Whether the machine has one shows when it is made.
Status check_knows_device(const std::string& name);

// The device that the config asks for; null for `cpu`. kInvalidConfig where this program has none
// of that name, with how to get one.
Result<std::unique_ptr<Device>> make_device(const DeviceSetup& setup);

}  // namespace broadloom
