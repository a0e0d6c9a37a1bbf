// A frozen network on every state of a tabular environment, in double precision: its policy, its
// critic, and the gradients of its log-probabilities.
#pragma once

#include <vector>

#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/value_normalizer.h"

namespace broadloom {

// The score of (s, a) is grad log pi(a | s) over all P parameters. It is zero at parameters that
// only the critic uses. Observations are one-hot.
class ExactPolicy {
 public:
  // network: one observation input per state, Discrete actions. params: [P]. unit: of the critic's
  // outputs. Cost: one forward pass over S rows.
  ExactPolicy(const ActorCritic& network, const double* params, ValueUnit unit = {});

  int num_states() const { return network_.shape().observation_size; }         // S
  int num_actions() const { return network_.shape().action_outputs; }          // A
  const std::vector<double>& probabilities() const { return probabilities_; }  // [S, A]
  const std::vector<double>& values() const { return values_; }                // [S]

  // Sum over (s, a) of weights[s, a] times the score of (s, a): [P]. weights: [S, A]. Cost: one
  // forward and one backward pass over S rows.
  std::vector<double> weighted_scores(const std::vector<double>& weights) const;

  // Inner products of the scores of all actions in the given states, [n, n] for n = states.size() *
  // A. The scores themselves are never stored. At a linear layer, a score is the outer product of
  // the delta and the input x. So two scores have the product (delta . delta')(x . x' + 1) there;
  // the 1 is the bias's. Cost: n^2 operations per output of each layer.
  std::vector<double> score_products(const std::vector<int>& states) const;

 private:
  // Both take a tile of states. backward() adds the sum of weighted_scores(), weights: [tile, A].
  void forward(const std::vector<int>& states, TileWorkspace<double>& work) const;
  void backward(const std::vector<int>& states, const double* weights, TileWorkspace<double>& work,
                double* sum) const;

  ActorCritic network_;
  std::vector<double> params_, transposed_;
  std::vector<double> probabilities_, values_;
};

}  // namespace broadloom
