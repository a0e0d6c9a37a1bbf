// The policy of Discrete and MultiDiscrete actions: independent categoricals, one per number of an
// action.
//
// A Discrete action is one number, so it has one head. Log-probability and entropy of an action are
// sums over the heads, in their order; two policies thus have one ratio per action, as in
// Stable-Baselines3's MultiCategoricalDistribution. One head gives the bits of distributions.h.
//
//   const CategoricalHeads heads(network.shape().heads());
//   heads.normalisers(logits, rows, normalisers);
//   heads.log_probs(logits, normalisers, actions, rows, log_probs);
//
// Arrays are those of distributions.h. logits and probs [outputs, rows] hold the heads' parts one
// after the other; outputs is the sum of all counts. Arrays [heads, rows] have one row per head.
#pragma once

#include <cstddef>
#include <span>

namespace broadloom {

class CategoricalHeads {
 public:
  // counts: [heads], the choices of each head, at least 1. They must outlive this.
  explicit CategoricalHeads(std::span<const int> counts) : counts_(counts) {}

  std::size_t heads() const { return counts_.size(); }

  // normalisers: out [heads, rows].
  template <class Real>
  void normalisers(const Real* logits, int rows, Real* normalisers) const;
  // actions: [heads, rows], indices. log_probs: out [rows].
  template <class Real>
  void log_probs(const Real* logits, const Real* normalisers, const Real* actions, int rows,
                 Real* log_probs) const;
  // probs: out [outputs, rows]. head_entropies: out [heads, rows]. entropies: out [rows].
  template <class Real>
  void entropies(const Real* logits, const Real* normalisers, int rows, Real* probs,
                 Real* head_entropies, Real* entropies) const;
  // d_logits: out [outputs, rows], the derivative of the sum over rows of
  // a[r] log_prob[r] + b entropy[r].
  template <class Real>
  void backward(const Real* logits, const Real* normalisers, const Real* probs,
                const Real* head_entropies, const Real* actions, const Real* a, Real b, int rows,
                Real* d_logits) const;
  // actions: out [heads, rows]. uniforms: [heads, rows] in [0, 1). masked: some logits may be
  // kInvalidLogit. The sum of the probabilities may round to less than a uniform; the last action
  // is then drawn, or with masks the last valid one.
  void sample(const float* logits, const float* normalisers, const float* uniforms, int rows,
              float* actions, bool masked = false) const;
  // actions: out [heads, rows], the first of each head's largest logits.
  void mode(const float* logits, int rows, float* actions) const;

 private:
  // Calls visit(choices, offset of the head's logits, offset of its row).
  template <class Visit>
  void each(Visit&& visit) const;

  std::span<const int> counts_;
};

}  // namespace broadloom
