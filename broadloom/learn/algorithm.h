// The interface between the core loop and an algorithm: its targets, its update, and the numbers
// that it reports. Derive from Algorithm and register it (setup/algorithms.h). In each iteration
// the trainer calls, in this order:
//
//   begin_block(progress);                     // then a block of N * T transitions is collected
//   take_block(learner, block);
//   compute_targets(block, begin, end);        // on several threads, for disjoint ranges
//   update(block, seed, iteration, learner);   // changes learner.params, [P] float32
//   visit_numbers(visit);
//
// An Actor (rollout/actor.h), which the algorithm's entry makes, chooses the actions. The block's
// arrays are [T, N] and [T, N, D] (rollout/block.h). Building blocks of updates (minibatches,
// clipping, Adam) are in the library's sources but not among the installed headers.
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

// When a schedule changes the block's shape, a new Algorithm object is made. Keep everything that
// must outlast a block in the learner. An algorithm with state of its own (append_state) is refused
// with such a schedule.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // Adds and initialises the parameters of a companion (companion.h) in the learner. Called once,
  // before all else. May allocate.
  virtual void initialise(Learner& /*learner*/) {}

  // Called before the first block of a run, but not after a resume. envs: the training
  // environments, which must not change. normalizers: those of the first block. May allocate.
  virtual Status begin_run(const VecEnv& /*envs*/, ObsNormalizers /*normalizers*/) { return {}; }

  // Called before a block is collected. progress: the share of the run that is done, for schedules;
  // 0 for the first block.
  virtual void begin_block(double /*progress*/) {}

  // Called with a complete block, before compute_targets(). Allocates nothing.
  virtual void take_block(const Learner& /*learner*/, RolloutBlock& /*block*/) {}

  // Computes block.advantages of environments [begin, end) from rewards, values, last_values,
  // final_values and the end flags. Value targets are advantages + values. Disjoint ranges may run
  // at the same time. Allocates nothing.
  virtual void compute_targets(RolloutBlock& block, int begin, int end) const = 0;

  // Learns from a block whose targets are set. Fails if a loss or gradient is not finite, or if
  // other parameters collected the block. The failing step is not taken. Allocates nothing.
  virtual Status update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                        Learner& learner) = 0;

  // Epochs of the last update.
  virtual int epochs() const = 0;

  // Visits the numbers of the last update. They are always those that the entry
  // (setup/algorithms.h) declares, in the same order.
  virtual void visit_numbers(const NumberVisitor& visit) const = 0;

  // Appends mutable views of state that outlasts a block, apart from the learner. After writing to
  // them, call state_restored().
  virtual void append_state(const std::string& /*prefix*/, std::vector<TensorRef>& /*out*/) {}
  // Recomputes everything derived from that state.
  virtual void state_restored() {}

  // observer: null for none. It must outlive its use, and does not change the bits of an update.
  virtual void set_observer(UpdateObserver* observer) = 0;
};

}  // namespace broadloom
