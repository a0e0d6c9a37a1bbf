// Acting on the values of actions: mostly the best, sometimes any.
#pragma once

#include "broadloom/rollout/actor.h"

namespace broadloom {

// With probability epsilon an action drawn uniformly, which may be the best one, otherwise the
// first of those with the largest output. log_probs are those of the mixture.
class EpsilonGreedy final : public Actor {
 public:
  explicit EpsilonGreedy(int actions) : actions_(actions) { set_epsilon(1.0); }
  void set_epsilon(double epsilon);
  double epsilon() const { return epsilon_; }
  void act(const ActRows& rows) const override;

 private:
  int actions_;
  double epsilon_ = 1.0;
  float log_best_ = 0.0f, log_other_ = 0.0f;  // of the best action, and of each other
};

}  // namespace broadloom
