// Exact models of environments with few states.
#pragma once

#include <algorithm>
#include <vector>

namespace broadloom {

struct TabularModel {
  struct Outcome {
    double probability;
    int next_state;
    double reward;
    bool terminated;
  };

  int num_states = 0;
  int num_actions = 0;
  std::vector<std::vector<Outcome>>
      transitions;            // [num_states * num_actions], index s * num_actions + a
  std::vector<double> start;  // [num_states] probability of an episode's first state

  const std::vector<Outcome>& outcomes(int state, int action) const {
    return transitions[static_cast<std::size_t>(state) * num_actions + action];
  }
};

// Expected return of the best policy with `horizon` steps to go, under the start distribution, not
// discounted: backward induction, O(horizon * outcomes).
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
