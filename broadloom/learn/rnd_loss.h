// RND's predictor loss and its gradient over one tile of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/host_device.h"
#include "broadloom/core/status.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"
#include "broadloom/rollout/normalizer.h"

namespace broadloom {

// The samples of one tile: the next observations of transitions.
template <class Real>
struct RndTile {
  RndTile(int observation_size, int outputs)
      : observations(static_cast<std::size_t>(kTileRows) * observation_size),
        targets(static_cast<std::size_t>(kTileRows) * outputs),
        old_errors(kTileRows),
        errors(kTileRows) {}
  std::size_t bytes() const {
    return sizeof(Real) * (observations.size() + targets.size() + 2 * kTileRows);
  }

  int rows = 0;
  AlignedVector<Real> observations;        // [kTileRows, D] normalised
  AlignedVector<Real> targets;             // [outputs, kTileRows]
  AlignedVector<Real> old_errors, errors;  // [kTileRows] rnd_errors(): of the block, and now
};

// Sums over samples; divide by their number for means.
struct RndSums {
  double loss = 0.0;
  double max_error_change = 0.0;  // from old_errors; NaN if one is NaN

  BROADLOOM_HD void add(const RndSums& other) {
    loss += other.loss;
    keep_change(other.max_error_change);
  }
  BROADLOOM_HD void keep_change(double change) {
    const bool is_number = max_error_change == max_error_change;
    if (is_number && !(change <= max_error_change)) max_error_change = change;
  }
};

// Collects the losses of a block's minibatches, in the order of their steps.
class RndLosses {
 public:
  // Adds one minibatch. samples: those that train the predictor. Fails if the first minibatch does
  // not give the errors that the block was rewarded with.
  Status take(const RndSums& sums, int samples);
  double mean() const { return steps_ > 0 ? loss_ / steps_ : 0.0; }

 private:
  double loss_ = 0.0;
  int steps_ = 0;
};

// Sets errors [rows] to half the sum of squared differences of predicted and targets, [outputs,
// kTileRows]. This is the intrinsic reward before scaling. Each row is summed in ascending order.
template <class Real>
void rnd_errors(const Real* predicted, const Real* targets, int outputs, int rows, Real* errors);

// Adds the tile's share of the gradient of
//   mean over the samples of  mean over the outputs of (predicted - target)^2
// to grads [P] and its sums to `sums` (Burda et al. 2018, arXiv 1810.12894, section 2.2; the mean
// over outputs as in CleanRL). network: one body and one head. samples: the number in the mean.
// transposed: see ActorCritic::refresh_transposed.
template <class Real>
void rnd_tile_gradient(const ActorCritic& network, int samples, const Real* params,
                       const Real* transposed, RndTile<Real>& tile, TileWorkspace<Real>& work,
                       Real* grads, RndSums& sums);

// Reads the next observations of `count` transitions of one step, [count, D], as network inputs.
inline void read_next(const RolloutBlock& block, std::size_t first, std::size_t count, float* out) {
  const std::size_t next = first + static_cast<std::size_t>(block.N);
  if (next < block.size()) return block.observations.read(next, count, out);
  block.last_observations.read(next - block.size(), count, out);
}

// The loss in the form that PartialGradients needs.
struct RndLoss {
  using Tile = RndTile<float>;
  using Sums = RndSums;
  struct Context {};

  static Tile make_tile(const ActorCritic& network, int observation_size, int) {
    return {observation_size, network.shape().action_outputs};
  }
  void gather(const RolloutBlock& block, const std::int32_t* indices, int rows, const Context&,
              NetworkSide, Tile& tile) const;
  void add_gradient(const ActorCritic& network, int samples, const float* params,
                    const float* transposed, Tile& tile, TileWorkspace<float>& work, float* grads,
                    RndSums& sums, NetworkSide) const {
    rnd_tile_gradient(network, samples, params, transposed, tile, work, grads, sums);
  }

  const ObsNormalizer* normalizer;
  const float* targets;  // [B, outputs] of every transition's next observation
  int outputs;
};

}  // namespace broadloom
