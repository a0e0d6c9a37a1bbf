// The distribution of a network's policy: every choice of it in one place.
//
// The collector, the loss, evaluations and instruments ask this class and know no kind. To add a
// distribution, add it here. Its formulas are in distributions.h (Gaussian, categorical) and
// pair_distributions.h (squashed, Beta, deviations that depend on the state).
//
// An action has choices, numbers of a Box, or both (Space::choice_count()). Choices and numbers are
// independent: the log-probability of an action and its entropy are sums over both. In each array
// the choices come first.
//
//   const PolicyDistribution policy(network.shape());
//   policy.log_probs(rows, log_probs);      // for the actions taken
//   policy.entropies(rows, entropies);      // then the entropy of every row
//   policy.backward(rows, a, b, d_outputs, d_log_std);  // and derivatives of both
//
// Arrays [n, kTileRows] hold one row of the tile per column. Nothing is allocated.
#pragma once

#include "broadloom/math/random_rows.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/categorical_heads.h"
#include "broadloom/nn/pair_distributions.h"
#include "broadloom/nn/played_number.h"

namespace broadloom {

// The rows of one tile, and scratch that is kept from one call to the next.
template <class Real>
struct PolicyRows {
  const Real* outputs;  // [outputs, kTileRows] of the policy side
  const Real* log_std;  // [box_size] of a Gaussian whose deviations are parameters; else not read
  const Real* actions;  // [A, kTileRows] as drawn
  int rows;
  Real* terms;           // [term_rows(), kTileRows]
  Real* normalisers;     // [A, kTileRows]
  Real* head_entropies;  // [A, kTileRows]; not used by log_probs()
};

// The noise of a tile's rows with state_noise.h.
struct DrawnNoise {
  NoiseRows<float> rows;
  const float* matrices;  // [rows, L, A]
};

class PolicyDistribution {
 public:
  // The shape must outlive this.
  explicit PolicyDistribution(const NetworkShape& shape);

  static int term_rows(const NetworkShape& shape);

  // How the numbers of a Box are distributed: by pairs of numbers, or with one deviation each that
  // is a parameter. Squashed ones are played within the bounds.
  const PairShape& pairs() const { return pairs_; }
  bool uses_pairs() const { return uses_pairs_; }
  bool is_squashed() const { return is_squashed_; }

  // log_probs: out [kTileRows].
  template <class Real>
  void log_probs(const PolicyRows<Real>& rows, Real* log_probs) const;
  // After log_probs(): entropies: out [kTileRows].
  template <class Real>
  void entropies(const PolicyRows<Real>& rows, Real* entropies) const;
  // After entropies(): d_outputs: out [outputs, kTileRows], derivative of the sum over rows of a[r]
  // log_prob[r] + b entropy[r]. Adds the derivative for log_std to d_log_std [A], if they are
  // parameters.
  template <class Real>
  void backward(const PolicyRows<Real>& rows, const Real* a, Real b, Real* d_outputs,
                Real* d_log_std) const;
  // After entropies(): one row's share of the derivative for log_std[i], number i of the Box.
  template <class Real>
  Real row_log_std_slope(const PolicyRows<Real>& rows, int i, int r, Real a, Real b) const;
  // kl: out [rows], KL(old || new) of a Box's numbers, if they have two outputs each.
  template <class Real>
  void pairs_kl(const Real* old_outputs, const Real* outputs, int rows, double* kl) const;

  // Draws actions: out [A, kTileRows], with their log_probs: out [kTileRows]. draws, terms:
  // [A, kTileRows] scratch. Each row draws from its own stream, so its action depends on no other
  // row. noise: needed with shape.has_state_noise(), which draws nothing here.
  void sample(const float* outputs, const float* log_std, const RandomRows& streams, float* draws,
              float* terms, float* actions, float* log_probs,
              const DrawnNoise* noise = nullptr) const;
  // actions: out [A, kTileRows]: the largest logit, a Gaussian's mean, or a Beta's mean. A squashed
  // Gaussian's is played as tanh(mean).
  void best(const float* outputs, int rows, float* actions) const;

  // Number i of an action as an environment gets it, from the one that was drawn.
  float played(std::size_t i, float drawn, const Space& space) const {
    if (i < static_cast<std::size_t>(choices_)) return drawn;
    return played_number(pairs_.kind, is_squashed_, drawn, space.low[i], space.high[i]);
  }

 private:
  bool is_beta() const { return pairs_.kind == PairKind::kBeta; }
  // `second` of pair_distributions.h. Repeats parameters over the rows, in terms [A, kTileRows].
  template <class Real>
  const Real* second(const PolicyRows<Real>& rows) const;
  // The part of the rows that belongs to the numbers of a Box. The functions box_..() get it.
  template <class Real>
  PolicyRows<Real> box_of(PolicyRows<Real> rows) const;
  template <class Real>
  void box_log_probs(const PolicyRows<Real>& box, Real* log_probs) const;
  template <class Real>
  void box_entropies(const PolicyRows<Real>& box, Real* entropies) const;
  template <class Real>
  void box_backward(const PolicyRows<Real>& box, const Real* a, Real b, Real* d_outputs,
                    Real* d_log_std) const;
  void draw_box(const float* outputs, const float* log_std, const RandomRows& streams, float* draws,
                float* actions, const DrawnNoise* noise) const;
  void best_box(const float* outputs, int rows, float* actions) const;

  const NetworkShape& shape_;
  int choices_, logits_;  // counts; 0 for a Box
  bool uses_pairs_, is_squashed_;
  PairShape pairs_;
};

}  // namespace broadloom
