// Exact transition models of environments with few states.
#pragma once

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

}  // namespace broadloom
