// The second moment of a block's summed gradients in a tabular environment.
#pragma once

#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/exact_advantage.h"
#include "research/lab/exact_chain.h"

namespace broadloom {

// E|sum over a block's T steps of A_t score_t|^2, by the pairs (t, u) of steps that make it up.
struct SecondMoment {
  double same_step = 0.0;      // t = u
  double same_episode = 0.0;   // t != u, both orders
  double other_episode = 0.0;  // t != u, both orders: an episode ended in between
  double total() const { return same_step + same_episode + other_episode; }
};

// Multiply-adds and bytes of second_moment(): about S A ((T + min(T, L)) (3 E + 2 S A) + 2 T^2) for
// E pairs of states with a transition, and 8 (S A)^2 + 80 T S A.
struct ExactWork {
  double operations = 0.0;
  double bytes = 0.0;
};
ExactWork second_moment_work(const ExactChain& chain, int num_steps);

// score_products: [S * A, S * A] of the chain's pairs.
//
// Within an episode: with Z_t the sum of A_u score_u from t to the episode's or block's end,
// E[Z_t . score_k] and E[A_t Z_t . score_k] obey the recursions of A's first and second moment, for
// every pair k on its own; that needs S A numbers a state, and no vector of P parameters. Across
// episodes: given that an episode ends at time n, what came before and what comes are independent,
// so the product of two expectations is all: sum over n of E[sum of A score in the episode that
// ends at n] . E[sum of A score in T - n steps from an episode's start].
SecondMoment second_moment(const ExactChain& chain, const std::vector<double>& score_products,
                           const ExactCase& of, TruncationMode mode, bool synchronised);

}  // namespace broadloom
