// Capability: whole-batch environments that play the steps of a block by one call, as a compiled
// program does that contains all of them, and ask for the actions of each step.
#pragma once

#include <functional>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class BlockPlayer {
 public:
  // ask(t, rows) before step t = 0 ... num_steps - 1 sets `rows`, all N environments. They have the
  // actions; play() writes the step's results there before it asks again. ask(num_steps, rows)
  // takes the last results. False: the block has failed, and play() need not ask again.
  using Ask = std::function<bool(int t, StepRows& rows)>;

  virtual ~BlockPlayer() = default;
  // Does what num_steps calls of VecEnv::step() do, up to rounding: a compiler may order the
  // arithmetic of a long program in another way. Asks from one thread at a time, any thread.
  virtual Status play(int num_steps, const Ask& ask) = 0;
  // Whether play() may be called. Constant during the environments' lifetime.
  virtual bool can_play() const { return true; }
};

// Null if these environments lack the capability. As with waves (episode_waves.h), a wrapper must
// implement it itself, so that no block bypasses the wrapper.
inline BlockPlayer* block_player(VecEnv& envs) {
  auto* const player = dynamic_cast<BlockPlayer*>(&envs);
  return player == nullptr || !player->can_play() ? nullptr : player;
}

}  // namespace broadloom
