// A value that changes over a run.
#pragma once

#include <algorithm>

namespace broadloom {

// From `start` to `end` in a straight line over the run; start == end: constant.
struct Schedule {
  double start = 0.0;
  double end = 0.0;

  // progress: the share of the run that lies behind, 0 for its first iteration. A schedule to 0 is
  // CleanRL's: start * (1 - progress). Past the end it stays where it came to.
  double at(double progress) const {
    const double p = std::min(progress, 1.0);
    return start * (1.0 - p) + end * p;
  }
  bool is_constant() const { return start == end; }
};

}  // namespace broadloom
