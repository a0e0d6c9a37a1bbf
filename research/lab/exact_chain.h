// The Markov chain of a tabular environment under a fixed policy, episode after episode.
//
// A position of the chain is (s, tau): the state, and the steps taken since the episode began. An
// episode ends when the environment terminates, or with its L-th step where there is a time limit
// L; the next one then starts at once. Starts of episodes are renewals: what follows one does not
// depend on what was before. So all that one needs to know of (s, tau) at any time is
//   rho_tau(s)   probability that an episode reaches step tau and is in s then
//   u_n          probability that an episode starts at time n
// and the probability of being at (s, tau) at time j is u_{j - tau} rho_tau(s).
#pragma once

#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/tabular.h"
#include "research/lab/exact_policy.h"

namespace broadloom {

// S counts the states that an episode can be in before a step, here and in all that is made of the
// chain; `states` says which of the model's they are.
struct ExactChain {
  struct Outcome {
    double probability;
    double reward;
    int next;  // [0, S); -1 where terminated
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
  // f(outcome) for all outcomes of pair s * A + a.
  template <class F>
  void for_outcomes(int pair, F&& f) const {
    for (int i = first_outcome[pair]; i < first_outcome[pair + 1]; ++i) f(outcomes[i]);
  }
};

// max_episode_steps >= 0. Errors: kMismatch where model and policy differ in size; kInvalidConfig
// where the model is no table of probabilities, where limit times states passes 2^25, or where
// without a limit the policy can get into a state from which no episode ends; kNumeric where
// episodes are too long for double precision. Cost: O(L * outcomes), or O(S^3) without a limit.
Result<ExactChain> make_exact_chain(const TabularModel& model, const ExactPolicy& policy,
                                    int max_episode_steps);

// rho_tau(s) for tau < steps, [steps, S]; steps <= L where there is a limit. O(steps * outcomes).
std::vector<double> episode_occupancy(const ExactChain& chain, int steps);

// u_n for n < steps after a start at time 0, [steps]; occupancy: rho_tau for tau <
// episode_steps(steps). O(steps^2).
std::vector<double> start_probabilities(const ExactChain& chain,
                                        const std::vector<double>& occupancy, int steps);

// Expected number of an environment's steps in a block of T that are taken in state s, by what is
// still to come. All of them sum to T.
struct PositionWeights {
  std::vector<double> beyond;   // [T, S]: h = 1..T steps before the block's end, limit out of reach
  std::vector<double> limited;  // [min(T, L), S]: with m = 1.. steps to the limit, met in the block
};

// synchronised: every block begins with an episode. Otherwise the chain is stationary, that is, it
// began long ago at a random phase: u_n = 1 / E[length] (Ross, Stochastic Processes, 2nd ed., 3.4).
// O(T * L * S).
PositionWeights position_weights(const ExactChain& chain, int num_steps, bool synchronised);

// Expected number of a block's steps with tau = 0, 1, .. divided by rho_tau, [episode_steps(T)];
// the same number for all tau where the chain is stationary.
std::vector<double> age_weights(const ExactChain& chain, int num_steps, bool synchronised);

// One step of policy evaluation, without bootstrapping from the critic: [S * A] of
// E[r + gamma next_values(s')], with nothing after a termination. next_values: [S].
std::vector<double> action_values(const ExactChain& chain, double gamma,
                                  const std::vector<double>& next_values);
// [S]: the policy's average over actions of x [S * A].
std::vector<double> policy_average(const ExactChain& chain, const std::vector<double>& x);

// Without a limit: v(s) = E[sum gamma^t r_t] from s, and sum over tau of gamma^tau rho_tau(s). [S],
// O(S^3).
std::vector<double> unlimited_values(const ExactChain& chain, double gamma);
std::vector<double> unlimited_visits(const ExactChain& chain, double gamma);

}  // namespace broadloom
