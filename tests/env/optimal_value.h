// The value of the optimal policy of a tabular environment.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "broadloom/env/tabular.h"

namespace broadloom {

// Expected undiscounted return of the optimal policy over `horizon` steps, from the start
// distribution. Uses backward induction, O(horizon * outcomes).
inline double optimal_value(const TabularModel& model, int horizon) {
  std::vector<double> value(static_cast<std::size_t>(model.num_states), 0.0);
  std::vector<double> next = value;
  for (int step = 0; step < horizon; ++step) {
    for (int s = 0; s < model.num_states; ++s) {
      double best = -1e300;
      for (int a = 0; a < model.num_actions; ++a) {
        double q = 0.0;
        for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
          q += o.probability * (o.reward + (o.terminated ? 0.0 : value[o.next_state]));
        }
        best = std::max(best, q);
      }
      next[s] = best;
    }
    std::swap(value, next);
  }
  double expected = 0.0;
  for (int s = 0; s < model.num_states; ++s) expected += model.start[s] * value[s];
  return expected;
}

}  // namespace broadloom
