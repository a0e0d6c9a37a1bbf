// The loss of distillation, from a teacher's outputs, and its gradient over one tile of rows.
#pragma once

#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/policy_distribution.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

struct DistillCoefficients {
  bool is_huber = false;  // of a Box's means: Huber's loss with delta 1, in place of the square
  // Factor of the minibatch's mean loss. RSL-RL adds up the mean losses of the time steps between
  // two gradient steps, so it is their number.
  double steps = 15.0;
};

// The samples of one tile, gathered from the block.
template <class Real>
struct DistillTile {
  explicit DistillTile(const NetworkShape& shape)
      : observations(static_cast<std::size_t>(kTileRows) * shape.observation_size),
        labels(static_cast<std::size_t>(kTileRows) * shape.action_outputs),
        valid(shape.masked ? labels.size() : 0),
        actions(static_cast<std::size_t>(kTileRows) * shape.action_size()),
        terms(static_cast<std::size_t>(kTileRows) * PolicyDistribution::term_rows(shape)),
        normalisers(actions.size()),
        old_log_probs(kTileRows),
        log_probs(kTileRows) {}
  std::size_t bytes() const {
    return sizeof(Real) * (observations.size() + labels.size() + 2 * actions.size() + terms.size() +
                           2 * kTileRows) +
           valid.size();
  }
  NetworkInput<Real> input() const {
    NetworkInput<Real> both(observations.data());
    if (!valid.empty()) both.valid = valid.data();
    return both;
  }

  int rows = 0;
  AlignedVector<Real> observations;              // [kTileRows, D]
  AlignedVector<Real> labels;                    // [outputs, kTileRows]
  AlignedVector<std::uint8_t> valid;             // [kTileRows, outputs] or empty
  AlignedVector<Real> actions;                   // [A, kTileRows] as drawn
  AlignedVector<Real> terms;                     // [term_rows(), kTileRows] scratch
  AlignedVector<Real> normalisers;               // [A, kTileRows] scratch
  AlignedVector<Real> old_log_probs, log_probs;  // [kTileRows]
};

// Sums over samples; divide by the minibatch size for means.
struct DistillSums {
  double loss = 0.0;  // per sample and time step, without the factor `steps`
  // max |log pi - block's log pi| of the actions taken; NaN if one is NaN. In the first minibatch
  // only, else 0.
  double max_log_prob_error = 0.0;

  void add(const DistillSums& other) {
    loss += other.loss;
    // Written so that NaN stays.
    if (!(other.max_log_prob_error <= max_log_prob_error)) {
      max_log_prob_error = other.max_log_prob_error;
    }
  }
};

// Forward, loss, backward. Adds the tile's share of the gradient of
//   steps * mean over the minibatch of (L_choices + L_Box)
// to grads [P] and its sums to `sums`.
//   L_Box      mean over the numbers of (m - l)^2, or of Huber's loss: m and l are the means of
//              student and teacher (rsl-rl-lib 5.5.1, algorithms/distillation.py)
//   L_choices  sum over heads of - sum_i p_i log q_i: p and q are the probabilities of teacher and
//              student. RSL-RL has no choices.
// The critic and the deviations get no gradient. samples: size of the whole minibatch. compares:
// whether the block's log-probabilities are compared. transposed: see
// ActorCritic::refresh_transposed.
template <class Real>
void distill_tile_gradient(const ActorCritic& network, const DistillCoefficients& coefficients,
                           int samples, bool compares, const Real* params, const Real* transposed,
                           DistillTile<Real>& tile, TileWorkspace<Real>& work, Real* grads,
                           DistillSums& sums);

// The loss in the form that PartialGradients needs.
struct DistillLoss {
  using Tile = DistillTile<float>;
  using Sums = DistillSums;
  struct Context {};

  static Tile make_tile(const ActorCritic& network, int, int) { return Tile(network.shape()); }
  static void gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide side, Tile& tile);
  void add_gradient(const ActorCritic& network, int samples, const float* params,
                    const float* transposed, Tile& tile, TileWorkspace<float>& work, float* grads,
                    DistillSums& sums, NetworkSide side) const {
    if (side == NetworkSide::kValue) return;  // nothing is learnt about values
    distill_tile_gradient(network, coefficients, samples, compares, params, transposed, tile, work,
                          grads, sums);
  }

  DistillCoefficients coefficients = {};
  bool compares = false;  // see distill_tile_gradient()
};

}  // namespace broadloom
