// Per-sample gradients of a policy in factored form.
//
// For a dense layer the gradient of one sample is the outer product of the layer's input and its
// output delta, so a sample's gradient of P numbers is kept as the few hundred that it is made of.
// Inner products, sums and projections of gradients follow from those (gram.h and below). The
// weights of a convolution, a few that are used at many places, have no such form: a sample's
// gradient for them is kept whole, as are those of normalisations and of log_std.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/nn/actor_critic.h"

namespace broadloom {

template <class Real>
struct GradientFactors {
  // d sample / d W = inputs (outer) deltas, d sample / d b = deltas.
  struct Layer {
    LinearSlice slice;
    std::vector<Real> inputs;  // [rows, in]
    std::vector<Real> deltas;  // [rows, out]
  };

  // A run of parameters whose gradients are kept whole.
  struct Extra {
    std::size_t offset;  // in the parameters [P]
    int size;
  };

  int rows = 0;
  std::vector<Layer> layers;
  std::vector<Extra> extra_runs;
  int extra_size = 0;        // of all of them
  std::vector<Real> extras;  // [rows, extra_size], run after run
};

// What a sample's gradient is made of. With A its advantage, at the policy that collected it:
//   g = A grad log pi(a|s)  +  ent_coef grad H(s)  +  vf_coef A grad V(s)
// which is minus the gradient of PPO's loss there: the ratio is 1, no clip is active, and the value
// target A + V(s) is off the value by A. The mean of g over a minibatch is minus what the trainer's
// own backward pass gives.
struct GradientTerms {
  bool entropy = false;
  bool value = false;
  double ent_coef = 0.0;
  double vf_coef = 0.0;
};

// Makes factors of samples; one per thread. Rows are taken kTileRows at a time.
template <class Real>
class FactorMaker {
 public:
  // The network must outlive it.
  FactorMaker(const ActorCritic& network, const GradientTerms& terms);

  // The policy: params [P], which are read by every make().
  void set_params(const Real* params) { params_ = params; }

  // Gives `factors` the shape that make() with so many rows gives it, and the memory.
  void shape(int rows, GradientFactors<Real>& factors) const;

  // Factors of `rows` samples with observations [rows, D] and actions [rows, A] (as drawn).
  //   policy_weights [rows]: A of the formula above as the policy's loss sees it; null: 1, so that
  //     without other terms the factors are those of the scores grad log pi, and a sample's
  //     gradient is its advantage times its score.
  //   value_weights [rows]: A of the value term; not read unless that term is on, and then the
  //     critic's observations are, where it has its own.
  // Cost: one forward and one backward pass. Memory of `factors` grows to the most rows seen; else
  // nothing is allocated.
  void make(NetworkInput<Real> observations, const Real* actions, const Real* policy_weights,
            const Real* value_weights, int rows, GradientFactors<Real>& factors);

 private:
  void tile(NetworkInput<Real> observations, const Real* actions, const Real* policy_weights,
            const Real* value_weights, int first, int rows, GradientFactors<Real>& factors);
  void policy_deltas(const Real* actions, const Real* weights, int first, int rows,
                     GradientFactors<Real>& factors);
  void keep(NetworkInput<Real> observations, int first, int rows, GradientFactors<Real>& factors);
  void keep_whole(const Layer& layer, const Real* inputs, const Real* deltas, int column, int first,
                  int rows, GradientFactors<Real>& factors);

  const ActorCritic& network_;
  const Real* params_ = nullptr;
  GradientTerms terms_;
  std::vector<LinearSlice> layers_;  // whose gradients are kept as factors
  std::vector<typename GradientFactors<Real>::Extra> extra_runs_;  // log_std's is the last
  TileWorkspace<Real> work_;
  std::vector<Real> transposed_, unused_grads_;                // [P]
  std::vector<Real> actions_;                                  // [A, kTileRows]
  std::vector<Real> ones_, normalisers_, entropies_, scores_;  // [kTileRows]
  std::vector<Real> terms_of_;                                 // [outputs, kTileRows]
};

// What follows from factors, with weights w [rows] (null: 1 each). Two of these take scratch, which
// grows to what they need; without it they make their own.
//
// into [P] += sum over rows [begin, end) of w[r] g_r. Cost: 2 P' operations a row, P' parameters in
// the factors.
template <class Real>
void add_weighted_sum(const GradientFactors<Real>& factors, const Real* weights, int begin, int end,
                      Real* into, std::vector<Real>& scratch);
// products [rows] = <g_r, v>, v [P].
template <class Real>
void project(const GradientFactors<Real>& factors, const Real* v, Real* products,
             std::vector<Real>& scratch);
// squares [rows] = |g_r|^2.
template <class Real>
void squared_norms(const GradientFactors<Real>& factors, Real* squares);
// <g_i, g_j>.
template <class Real>
Real inner_product(const GradientFactors<Real>& factors, int i, int j);

template <class Real>
void add_weighted_sum(const GradientFactors<Real>& factors, const Real* weights, Real* into) {
  std::vector<Real> scratch;
  add_weighted_sum(factors, weights, 0, factors.rows, into, scratch);
}
template <class Real>
void project(const GradientFactors<Real>& factors, const Real* v, Real* products) {
  std::vector<Real> scratch;
  project(factors, v, products, scratch);
}

// How many of a sample's numbers are kept whole; value: with those that the value's gradient needs.
std::size_t whole_count(const ActorCritic& network, bool value);
// How many parameters the policy has: those that grad log pi can move.
std::size_t policy_parameter_count(const ActorCritic& network);

}  // namespace broadloom
