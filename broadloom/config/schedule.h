// Values that change over a run.
#pragma once

#include "broadloom/config/config.h"

namespace broadloom {

// From `start` to `end` in a straight line over the run; start == end: constant.
struct Schedule {
  double start = 0.0;
  double end = 0.0;

  // progress: the share of the run that lies behind, 0 for its first iteration. A schedule to 0 is
  // CleanRL's: start * (1 - progress).
  double at(double progress) const { return start * (1.0 - progress) + end * progress; }
  bool is_constant() const { return start == end; }
};

// Of the learning rate; constant, too, where lr_schedule = adaptive: the update moves it then.
inline Schedule learning_rate_schedule(const Config& config) {
  return {config.learning_rate, config.lr_schedule == "linear" ? 0.0 : config.learning_rate};
}

}  // namespace broadloom
