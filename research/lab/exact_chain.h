// The Markov chain of a tabular environment under a fixed policy, episode after episode.
//
// A position of the chain is (s, tau): the state, and the steps since the episode began. An episode
// ends if the environment terminates, or with its L-th step if there is a time limit L. The next
// episode starts at once. Starts of episodes are renewals: the future after one does not depend on
// the past. So the probability of (s, tau) at any time follows from
//   rho_tau(s)   probability that an episode reaches step tau and is in s then
//   u_n          probability that an episode starts at time n
// The probability of being at (s, tau) at time j is u_{j - tau} rho_tau(s).
#pragma once

#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tabular.h"
#include "research/lab/exact_policy.h"

namespace broadloom {

// S counts the states that an episode can be in before a step, here and in all that uses the chain.
// `states` maps them to the model's states.
struct ExactChain {
  struct Outcome {
    double probability;
    double reward;
    int next;  // [0, S); -1 if terminated
    bool terminated() const { return next < 0; }
  };

  int num_states = 0;          // S
  int num_actions = 0;         // A
  int max_episode_steps = 0;   // L; 0: no limit
  std::vector<int> states;     // [S]
  std::vector<double> start;   // [S]
  std::vector<double> policy;  // [S, A]
  std::vector<double> values;  // [S] of the critic
  std::vector<Outcome>
      outcomes;  // of (s, a): from first_outcome[s * A + a] to the next one's first
  std::vector<int> first_outcome;  // [S * A + 1]
  std::vector<double> visits;      // [S] steps that an episode spends in s: sum of rho_tau(s)
  double mean_episode_length = 0.0;

  int num_pairs() const { return num_states * num_actions; }
  // How many steps of an episode can lie within `steps` steps.
  int episode_steps(int steps) const {
    return max_episode_steps > 0 && max_episode_steps < steps ? max_episode_steps : steps;
  }
  // Calls f(outcome) for all outcomes of pair s * A + a.
  template <class F>
  void for_outcomes(int pair, F&& f) const {
    for (int i = first_outcome[pair]; i < first_outcome[pair + 1]; ++i) f(outcomes[i]);
  }
};

// max_episode_steps >= 0. Cost: O(L * outcomes), or O(S^3) without a limit. Errors:
//   kMismatch       model and policy differ in size
//   kInvalidConfig  the model is no table of probabilities; limit times states exceeds 2^25; or,
//                   without a limit, the policy can reach a state from which no episode ends
//   kNumeric        episodes are too long for double precision
Result<ExactChain> make_exact_chain(const TabularModel& model, const ExactPolicy& policy,
                                    int max_episode_steps);

// rho_tau(s) for tau < steps, [steps, S]; steps <= L if there is a limit. O(steps * outcomes).
std::vector<double> episode_occupancy(const ExactChain& chain, int steps);

// u_n for n < steps after a start at time 0, [steps]. occupancy: rho_tau for tau <
// episode_steps(steps). O(steps^2).
std::vector<double> start_probabilities(const ExactChain& chain,
                                        const std::vector<double>& occupancy, int steps);

// Expected number of an environment's steps in state s within a block of T, by the steps still to
// come. All of them sum to T.
struct PositionWeights {
  std::vector<double> beyond;   // [T, S]: h = 1..T steps before the block's end, limit out of reach
  std::vector<double> limited;  // [min(T, L), S]: m = 1.. steps before the limit, in the block
};

// synchronised: every block begins with an episode. Otherwise the chain is stationary: it began
// long ago at a random phase, and u_n = 1 / E[length] (Ross, Stochastic Processes, 2nd ed., 3.4).
// O(T * L * S).
PositionWeights position_weights(const ExactChain& chain, int num_steps, bool synchronised);

// Expected number of a block's steps with tau = 0, 1, ..., divided by rho_tau, [episode_steps(T)].
// The same number for all tau if the chain is stationary.
std::vector<double> age_weights(const ExactChain& chain, int num_steps, bool synchronised);

// One step of policy evaluation, without bootstrapping from the critic: E[r + gamma
// next_values(s')], [S * A]. A termination has no next value. next_values: [S].
std::vector<double> action_values(const ExactChain& chain, double gamma,
                                  const std::vector<double>& next_values);
// [S]: the policy's average over actions of x [S * A].
std::vector<double> policy_average(const ExactChain& chain, const std::vector<double>& x);

// Without a limit: v(s) = E[sum gamma^t r_t] from s, and sum over tau of gamma^tau rho_tau(s). [S],
// O(S^3).
std::vector<double> unlimited_values(const ExactChain& chain, double gamma);
std::vector<double> unlimited_visits(const ExactChain& chain, double gamma);

}  // namespace broadloom
