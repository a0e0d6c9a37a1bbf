// Chooses actions from a network's outputs, during collection and evaluation.
#pragma once

#include "broadloom/math/random_rows.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {

// Up to kTileRows rows, one per environment.
struct ActRows {
  const float* log_std;  // [A] of a Gaussian (TileWorkspace::log_std); null or not read: none
  const float* outputs;  // [outputs, kTileRows], of the policy side
  RandomRows streams;    // one per row, the source of all its draws
  float* actions;        // out [A, kTileRows], as drawn (PolicyDistribution::played)
  float* log_probs;      // out [kTileRows]
  float* draws;          // [A, kTileRows] scratch
  float* terms;          // [A, kTileRows] scratch
  // With NetworkShape::has_state_noise(): the noise of the rows; else null.
  const DrawnNoise* noise = nullptr;
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

// Draws from the policy's distribution (broadloom/nn/policy_distribution.h).
class PolicySampler final : public Actor {
 public:
  // The network must outlive this.
  explicit PolicySampler(const ActorCritic& network) : policy_(network.shape()) {}
  void act(const ActRows& rows) const override;
  void act_best(const ActRows& rows) const override;

 private:
  PolicyDistribution policy_;
};

}  // namespace broadloom
