// PQN's loss and its gradient over one tile of rows.
#pragma once

#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/host_device.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {

// The samples of one tile, gathered from the block.
template <class Real>
struct PqnTile {
  explicit PqnTile(int observation_size)
      : observations(static_cast<std::size_t>(kTileRows) * observation_size),
        actions(kTileRows),
        targets(kTileRows),
        old_values(kTileRows) {}
  std::size_t bytes() const { return sizeof(Real) * (observations.size() + 3 * kTileRows); }
  NetworkInput<Real> input() const { return observations.data(); }

  int rows = 0;
  AlignedVector<Real> observations;                  // [kTileRows, D]
  AlignedVector<Real> actions, targets, old_values;  // [kTileRows]
};

// Sums over samples; divide by the minibatch size for means.
struct PqnSums {
  double td_loss = 0.0;  // half the squared error
  double q_values = 0.0;
  double max_value_error = 0.0;  // max |max_a Q - block's value|; NaN if one is NaN

  BROADLOOM_HD void add(const PqnSums& other) {
    td_loss += other.td_loss;
    q_values += other.q_values;
    // Written so that NaN stays.
    if (!(other.max_value_error <= max_value_error)) max_value_error = other.max_value_error;
  }
};

// Forward, loss, backward. Adds the tile's share of the gradient of
//   vf_coef * mean over the minibatch of (Q(s, a) - G)^2 / 2
// to grads [P] and its sums to `sums` (Gallici et al. 2024, arXiv 2407.04811, eq. 5; G is
// advantages + values of the block). samples: size of the whole minibatch. transposed: see
// ActorCritic::refresh_transposed.
template <class Real>
void pqn_tile_gradient(const ActorCritic& network, double vf_coef, int samples, const Real* params,
                       const Real* transposed, PqnTile<Real>& tile, TileWorkspace<Real>& work,
                       Real* grads, PqnSums& sums);

// The loss in the form that PartialGradients needs.
struct PqnLoss {
  using Tile = PqnTile<float>;
  using Sums = PqnSums;
  struct Context {};

  static Tile make_tile(const ActorCritic&, int observation_size, int) {
    return Tile(observation_size);
  }
  static void gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide, Tile& tile);
  void add_gradient(const ActorCritic& network, int samples, const float* params,
                    const float* transposed, Tile& tile, TileWorkspace<float>& work, float* grads,
                    PqnSums& sums, NetworkSide) const {
    pqn_tile_gradient(network, vf_coef, samples, params, transposed, tile, work, grads, sums);
  }

  double vf_coef = 1.0;
};

}  // namespace broadloom
