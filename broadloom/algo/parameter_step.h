// The step that follows a gradient.
#pragma once

#include <vector>

#include "broadloom/algo/learner.h"
#include "broadloom/core/shared_work.h"
#include "broadloom/math/adam.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// The sides of a network that several threads learn side by side; otherwise both as one.
std::vector<NetworkSide> learnt_sides(const ActorCritic& network, int threads);

// Runs of parameters that make up a side, short enough to be shared among threads. Part of the bits
// contract: squares of a gradient are summed run by run. None spans two sides.
std::vector<ParameterRange> parameter_chunks(const ActorCritic& network, NetworkSide side);

// One step of Adam on all parameters, taken late: each side's by the threads that are about to
// work out the next gradient of that side, so that a gradient step has one meeting of threads and
// not two.
class ParameterStep {
 public:
  // Its sides are learnt_sides().
  ParameterStep(const ActorCritic& network, int threads);

  // To be taken with `gradient` [P], which must stay until it has been; so must the learner. Not
  // while threads are in take().
  void set(const AdamStep& adam, const float* gradient, Learner& learner);

  // Returns when the side's parameters, and their copies in bfloat16, have taken the step; at once
  // where they had, or none was set. Threads that come at the same time share the work.
  void take(int side);

  // Takes it on all sides.
  void finish() {
    for (int side = 0; side < static_cast<int>(sides_.size()); ++side) take(side);
  }

 private:
  struct Side {
    NetworkSide which = NetworkSide::kBoth;
    std::vector<ParameterRange> chunks;
    SharedWork adam;  // chunks
    SharedWork bf16;  // parts of the copies
  };

  const ActorCritic& network_;
  std::vector<Side> sides_;
  AdamStep adam_;
  const float* gradient_ = nullptr;  // [P]
  Learner* learner_ = nullptr;
};

}  // namespace broadloom
