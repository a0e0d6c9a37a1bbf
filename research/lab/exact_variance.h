// The second moment of a block's summed gradients in a tabular environment.
#pragma once

#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/exact_advantage.h"
#include "research/lab/exact_chain.h"

namespace broadloom {

// E|sum over a block's T steps of A_t score_t|^2, split by the pairs (t, u) of steps.
struct SecondMoment {
  double same_step = 0.0;      // t = u
  double same_episode = 0.0;   // t != u, both orders
  double other_episode = 0.0;  // t != u, both orders: an episode ended in between
  double total() const { return same_step + same_episode + other_episode; }
};

// Multiply-adds and bytes of second_moment(). With E pairs of states with a transition, about S A
// ((T + min(T, L)) (3 E + 2 S A) + 2 T^2) and 8 (S A)^2 + 80 T S A.
struct ExactWork {
  double operations = 0.0;
  double bytes = 0.0;
};
ExactWork second_moment_work(const ExactChain& chain, int num_steps);

// score_products: [S * A, S * A] of the chain's pairs.
//
// Within an episode, let Z_t be the sum of A_u score_u from t to the end of the episode or block.
// E[Z_t . score_k] and E[A_t Z_t . score_k] obey the recursions of A's first and second moment, for
// every pair k independently. This needs S A numbers per state, and no vector of P parameters.
//
// Across episodes: given an episode's end at time n, past and future are independent. The product
// of two expectations is thus enough: sum over n of E[sum of A score in the episode that ends at n]
// . E[sum of A score in T - n steps from an episode's start].
SecondMoment second_moment(const ExactChain& chain, const std::vector<double>& score_products,
                           const ExactCase& exact_case, TruncationMode mode, bool synchronised);

}  // namespace broadloom
