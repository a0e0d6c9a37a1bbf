// What the core loop asks of an algorithm: what it learns from, how it updates, and which numbers
// come of it. The loop knows nothing else of it; how it acts is an Actor's (rollout/actor.h), which
// the algorithm's entry makes (config/algorithms.h) for the loop and for who plays a policy alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/learn/learner.h"
#include "broadloom/learn/update_observer.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// Where a schedule changes the block's shape, another one is made for it: what must outlast a block
// is the learner's. One that has state of its own (append_state) is refused with such a schedule.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // What it learns beside the network gets its place in the learner, and begins there. Once, before
  // all else; may allocate.
  virtual void initialise(Learner& /*learner*/) {}

  // Before the first block of a run, not where one is resumed. envs: those that train, which stay
  // as they are; normalizers: through which the first block will be seen. May allocate.
  virtual Status begin_run(const VecEnv& /*envs*/, ObsNormalizers /*normalizers*/) { return {}; }

  // Before a block is collected. progress: the share of the run that lies behind, which schedules
  // take; 0 for the first block.
  virtual void begin_block(double /*progress*/) {}

  // Of a block that is whole, before compute_targets(). Allocates nothing.
  virtual void take_block(const Learner& /*learner*/, RolloutBlock& /*block*/) {}

  // What the update learns from, of environments [begin, end): block.advantages, with value targets
  // advantages + values. From rewards, values, last_values, final_values and the end flags.
  // Disjoint ranges may run at the same time. Allocates nothing.
  virtual void compute_targets(RolloutBlock& block, int begin, int end) const = 0;

  // Learns from a block whose targets are set. Fails, leaving the parameters as they were at the
  // failing step, where a loss or gradient is not finite, or where the block cannot be these
  // parameters' own. Allocates nothing.
  virtual Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                        Learner& learner) = 0;

  // Passes over the block that the last update made.
  virtual int epochs() const = 0;

  // The numbers of the last update: always the same ones in the same order, those that the table of
  // algorithms (config/algorithms.h) has declared.
  virtual void visit_numbers(const NumberVisitor& visit) const = 0;

  // Mutable views of what outlasts a block beside the learner. After they were written into, call
  // state_restored().
  virtual void append_state(const std::string& /*prefix*/, std::vector<TensorRef>& /*out*/) {}
  virtual void state_restored() {}

  // observer: null for none; it must outlive its use. An update has the same bits with one.
  virtual void set_observer(UpdateObserver* observer) = 0;
};

}  // namespace broadloom
