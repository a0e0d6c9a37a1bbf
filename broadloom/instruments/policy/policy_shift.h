// The distance between two policies on the same rows.
#pragma once

#include <vector>

#include "broadloom/learn/ratio_sums.h"
#include "broadloom/nn/actor_critic.h"

namespace broadloom {

// KL(old || new) of a tile's rows, from the outputs [count, kTileRows] of both policies as
// ActorCritic::forward() writes them:
//   categorical: sum over heads of sum_i p_i (log p_i - log q_i);
//   Box, other than a Gaussian's parameters: pair_distributions.h;
//   Gaussian: sum_i log(s'_i / s_i) + (s_i^2 + (m_i - m'_i)^2) / (2 s'_i^2) - 1/2;
//   choices and a Box: the sum of both.
// In double, so that small values keep their digits. Exactly 0 if the outputs are equal.
class PolicyDivergence {
 public:
  explicit PolicyDivergence(const NetworkShape& shape);
  static std::size_t bytes(const NetworkShape& shape);

  // Writes kl [rows]. old_log_std, new_log_std: [box_size], if deviations are parameters.
  void operator()(const float* old_policy, const float* new_policy, const float* old_log_std,
                  const float* new_log_std, int rows, double* kl);

 private:
  void categorical(const float* old_policy, const float* new_policy, int rows, double* kl);
  void box(const float* old_policy, const float* new_policy, const float* old_log_std,
           const float* new_log_std, int rows, double* kl) const;

  NetworkShape shape_;
  int logits_;
  std::vector<int> heads_;                                   // choices of each; empty for a Box
  std::vector<double> old_logits_, new_logits_, old_probs_;  // [logits, kTileRows]
  std::vector<double> old_normalisers_, new_normalisers_, old_entropies_;  // [heads, kTileRows]
  std::vector<double> entropies_;                                          // [kTileRows]
};

// Adds the statistics of the ratios r = pi_new(a | s) / pi_old(a | s) of a tile to sums: k1, k3, r,
// r^2 and extremes. Log-probabilities are [rows], of the actions taken.
void add_ratios(const float* old_log_probs, const float* new_log_probs, int rows, RatioSums& sums);

}  // namespace broadloom
