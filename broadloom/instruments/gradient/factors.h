// Per-sample gradients of a policy in factored form.
//
// For a dense layer, the gradient of one sample is the outer product of the layer's input and its
// output delta. A gradient of P numbers is thus stored as a few hundred. Inner products, sums and
// projections of gradients follow from those (research/lab/gram.h, and the functions below).
//
// A convolution uses few weights at many positions, so its gradient has no such form. A sample's
// gradient for it is stored whole, as are those for normalisations and log_std.
//
// With memory, a sample's gradient sums over all earlier steps of its window, as backpropagation
// through time does. It is then stored whole for all parameters.
#pragma once

#include <cstddef>
#include <cstdint>
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

  // A range of parameters whose gradients are stored whole.
  struct Extra {
    std::size_t offset;  // in the parameters [P]
    int size;
  };

  int rows = 0;
  std::vector<Layer> layers;
  std::vector<Extra> extra_runs;
  int extra_size = 0;        // total size of extra_runs
  std::vector<Real> extras;  // [rows, extra_size], run after run
};

// The number whose gradient is a sample's score.
enum class Score {
  kLogProb,      // log pi(a|s)
  kValue,        // V(s)
  kActionValue,  // Q(s, a), of networks with action values
};

// The terms of a sample's gradient. With A its advantage, at the policy that collected it:
//   g = A grad log pi(a|s)  +  ent_coef grad H(s)  +  vf_coef A grad V(s)
// This is minus the gradient of PPO's loss there: the ratio is 1, no clip is active, and the value
// target A + V(s) differs from the value by A. The mean of g over a minibatch is minus the
// trainer's own gradient.
//
// The other scores stand alone: g = w grad V(s) with w = A is the value loss's, and
// g = w grad Q(s, a) with w = A + V(s) - Q(s, a) is that of PQN's loss.
struct GradientTerms {
  bool entropy = false;
  bool value = false;
  double ent_coef = 0.0;
  double vf_coef = 0.0;
  Score score = Score::kLogProb;  // entropy and value need kLogProb

  bool reads_critic() const { return value || score == Score::kValue; }
};

// How rows follow each other in time, for networks with memory. Rows of an environment are
// neighbours, and every environment has `steps` of them. Windows begin every `window` steps; the
// states before them are constants, as the trainer's sequences have it.
template <class Real>
struct SampleSequences {
  int steps = 0, window = 0;
  const Real* states = nullptr;          // [windows, S] before each window, in the order of rows
  const std::uint8_t* begins = nullptr;  // [rows] 1: the row is an episode's first, its state is 0

  int windows_of_env() const { return (steps + window - 1) / window; }
};

// Makes factors of samples; use one per thread. It takes kTileRows rows at a time.
template <class Real>
class FactorMaker {
 public:
  // The network must outlive this object.
  FactorMaker(const ActorCritic& network, const GradientTerms& terms);

  // Sets the policy's parameters [P], which every make() reads.
  void set_params(const Real* params) { params_ = params; }

  // Gives `factors` the shape and the memory that make() with `rows` rows needs.
  void shape(int rows, GradientFactors<Real>& factors) const;

  // Makes factors of `rows` samples with observations [rows, D] and actions [rows, A] (as drawn).
  //
  // policy_weights [rows]: w or A of the formulas above in the score's term. Null means 1. Without
  // other terms, the factors are then those of the scores, and a sample's gradient is its weight
  // times its score.
  //
  // value_weights [rows]: A of the value term. Not read unless that term is on. The critic's own
  // observations, if it has any, are read only if terms.reads_critic().
  //
  // sequences: needed by networks with memory, and read by no other.
  //
  // Cost: one forward and one backward pass; with memory, a sample costs a backward pass through
  // its window's earlier steps. The memory of `factors` grows to the most rows seen; otherwise
  // nothing is allocated.
  void make(NetworkInput<Real> observations, const Real* actions, const Real* policy_weights,
            const Real* value_weights, int rows, GradientFactors<Real>& factors,
            const SampleSequences<Real>& sequences = {});

  // Adds the sum over `rows` samples of weights[r] times the score to sum [P], for networks with
  // memory: what make() and add_weighted_sum() give, but with one backward pass for all.
  void add_sequences(NetworkInput<Real> observations, const Real* actions, const Real* weights,
                     int rows, const SampleSequences<Real>& sequences, Real* sum);

 private:
  // A tile of a window: rows [first, first + rows).
  struct Piece {
    int first, rows;
  };
  NetworkInput<Real> input_from(NetworkInput<Real> observations, int first) const;
  void set_deltas(const Real* actions, const Real* policy_weights, const Real* value_weights,
                  int first, int rows, Real* row_slopes, std::size_t stride);
  void begin_piece(NetworkInput<Real> observations, const SampleSequences<Real>& sequences,
                   const Real* state, Piece piece);
  std::vector<Piece>& pieces_of(NetworkInput<Real> observations,
                                const SampleSequences<Real>& sequences, int first, int rows,
                                const Real* state);
  void make_sequences(NetworkInput<Real> observations, const Real* actions,
                      const Real* policy_weights, const Real* value_weights, int rows,
                      GradientFactors<Real>& factors, const SampleSequences<Real>& sequences);
  void tile(NetworkInput<Real> observations, const Real* actions, const Real* policy_weights,
            const Real* value_weights, int first, int rows, GradientFactors<Real>& factors);
  void policy_deltas(const Real* actions, const Real* weights, int first, int rows,
                     Real* row_slopes, std::size_t stride);
  void noise_slopes(int rows, Real* row_slopes, std::size_t stride) const;
  void keep(NetworkInput<Real> observations, int first, int rows, GradientFactors<Real>& factors);
  void keep_whole(const Layer& layer, const Real* inputs, const Real* deltas, int column, int first,
                  int rows, GradientFactors<Real>& factors);

  const ActorCritic& network_;
  const Real* params_ = nullptr;
  GradientTerms terms_;
  NetworkSide side_;                 // whose outputs the terms read
  std::vector<LinearSlice> layers_;  // layers whose gradients are stored as factors
  std::vector<typename GradientFactors<Real>::Extra> extra_runs_;  // log_std's is the last
  TileWorkspace<Real> work_;
  std::vector<Real> transposed_, unused_grads_;               // [P]
  std::vector<Real> actions_, normalisers_, head_entropies_;  // [A, kTileRows]
  std::vector<Real> ones_, entropies_, log_probs_, scores_;   // [kTileRows]
  std::vector<Real> terms_of_;                                // [outputs, kTileRows]
  // With memory only.
  std::vector<Piece> pieces_;                               // of the present window
  std::vector<Real> between_;                               // [pieces, S] states before them
  std::vector<Real> kept_policy_delta_, kept_value_delta_;  // of a piece's samples
  std::vector<Real> gradient_, slopes_;                     // [P], [kTileRows, deviations]
};

// Functions of factors, with weights w [rows] (null: 1 each). Two of them take scratch, which grows
// to the size that they need. The overloads without scratch allocate their own.
//
// into [P] += sum over rows [begin, end) of w[r] g_r. Cost: 2 P' operations per row, with P'
// parameters in the factors.
template <class Real>
void add_weighted_sum(const GradientFactors<Real>& factors, const Real* weights, int begin, int end,
                      Real* sum, std::vector<Real>& scratch);
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
void add_weighted_sum(const GradientFactors<Real>& factors, const Real* weights, Real* sum) {
  std::vector<Real> scratch;
  add_weighted_sum(factors, weights, 0, factors.rows, sum, scratch);
}
template <class Real>
void project(const GradientFactors<Real>& factors, const Real* v, Real* products) {
  std::vector<Real> scratch;
  project(factors, v, products, scratch);
}

// Numbers of a sample that are stored whole.
std::size_t whole_count(const ActorCritic& network, const GradientTerms& terms);
// Parameters that a score's gradient can move.
std::size_t scored_parameter_count(const ActorCritic& network, Score score = Score::kLogProb);

}  // namespace broadloom
