// How actions follow from a network's outputs: while blocks are collected, and while a policy is
// played.
#pragma once

#include "broadloom/math/random_rows.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// Up to kTileRows rows, one an environment.
struct ActRows {
  const float* params;   // [P]
  const float* outputs;  // [outputs, kTileRows] of the policy side
  RandomRows streams;    // one a row, which all that is drawn for it comes from
  float* actions;        // [A, kTileRows] out, as drawn; Discrete: the index
  float* log_probs;      // [kTileRows] out, of those actions
  float* draws;          // [A, kTileRows] scratch
  float* terms;          // [A, kTileRows] scratch
};

// What it makes of a row must not depend on the rows beside it. Several threads act at a time.
// Allocates nothing.
class Actor {
 public:
  virtual ~Actor() = default;
  // Before a block is collected, or episodes are played. progress: the share of the run that lies
  // behind, which schedules take; 0 for the first block.
  virtual void begin_block(double /*progress*/) {}
  // Actions that explore, as blocks are collected.
  virtual void act(const ActRows& rows) const = 0;
  // The most likely action, or the best one: draws nothing, and leaves log_probs as they are.
  virtual void act_best(const ActRows& rows) const = 0;
};

// Draws from the policy: from the categorical distribution whose logits the outputs are, or from
// the Gaussian whose means they are.
class PolicySampler final : public Actor {
 public:
  // The network must outlive this.
  explicit PolicySampler(const ActorCritic& network) : network_(network) {}
  void act(const ActRows& rows) const override;
  // Of a Gaussian, its mean.
  void act_best(const ActRows& rows) const override;

 private:
  const ActorCritic& network_;
};

}  // namespace broadloom
