// Chooses actions from a network's outputs, during collection and evaluation.
#pragma once

#include "broadloom/math/random_rows.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Up to kTileRows rows, one per environment.
struct ActRows {
  const float* log_std;  // [A] of a Gaussian (TileWorkspace::log_std); else not read
  const float* outputs;  // [outputs, kTileRows], of the policy side
  RandomRows streams;    // one per row, the source of all its draws
  float* actions;        // out [A, kTileRows], unclipped; indices if categorical
  float* log_probs;      // out [kTileRows]
  float* draws;          // [A, kTileRows] scratch
  float* terms;          // [A, kTileRows] scratch
};

// Results of a row must not depend on other rows. Several threads act at the same time. Allocates
// nothing.
class Actor {
 public:
  virtual ~Actor() = default;
  // Called before a block is collected and before an evaluation. progress: the share of the run
  // that is done, for schedules; 0 for the first block.
  virtual void begin_block(double /*progress*/) {}
  // Draws actions for collection.
  virtual void act(const ActRows& rows) const = 0;
  // Chooses the most likely or best action. Draws nothing and does not write log_probs.
  virtual void act_best(const ActRows& rows) const = 0;
};

// Draws from the policy. The outputs are the logits of categorical distributions or the means of a
// Gaussian.
class PolicySampler final : public Actor {
 public:
  // The network must outlive this.
  explicit PolicySampler(const ActorCritic& network) : network_(network) {}
  void act(const ActRows& rows) const override;
  // The mean for a Gaussian.
  void act_best(const ActRows& rows) const override;

 private:
  const ActorCritic& network_;
};

}  // namespace broadloom
