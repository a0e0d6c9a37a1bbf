// Chooses actions from action values: mostly the best, sometimes a random one.
#pragma once

#include "broadloom/rollout/actor.h"

namespace broadloom {

// The share of random actions: falls linearly over the first `decay` of a run.
struct EpsilonSchedule {
  double start = 1.0, finish = 0.05;
  double decay = 0.1;
  // Epsilon after the given share of a run.
  double epsilon(double progress) const;
};

// Chooses a uniformly drawn action with probability epsilon (it may be the best one), else the
// first action with the largest output. log_probs are those of the mixture.
class EpsilonGreedy final : public Actor {
 public:
  EpsilonGreedy(int actions, const EpsilonSchedule& schedule)
      : actions_(actions), schedule_(schedule) {
    begin_block(0.0);
  }
  void begin_block(double progress) override;
  void act(const ActRows& rows) const override;
  void act_best(const ActRows& rows) const override;

 private:
  int actions_;
  EpsilonSchedule schedule_;
  double epsilon_ = 1.0;
  float log_best_ = 0.0f, log_other_ = 0.0f;  // log-probabilities
};

}  // namespace broadloom
