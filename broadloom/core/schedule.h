// A value that changes over a run.
#pragma once

#include <algorithm>

namespace broadloom {

// Linear from `start` to `end` over the run; start == end: constant.
struct Schedule {
  double start = 0.0;
  double end = 0.0;

  // progress: completed share of the run, 0 in the first iteration. A schedule to 0 equals
  // CleanRL's start * (1 - progress). Past the end, the value stays at `end`.
  double at(double progress) const {
    const double p = std::min(progress, 1.0);
    return start * (1.0 - p) + end * p;
  }
  bool is_constant() const { return start == end; }
};

}  // namespace broadloom
