#include "broadloom/algorithms/rnd_loss.h"

#include <algorithm>
#include <cmath>

namespace broadloom {

void RndSums::add(const RndSums& other) {
  loss += other.loss;
  // Written so that what is not a number stays.
  if (!(other.max_error_change <= max_error_change)) max_error_change = other.max_error_change;
}

void RndLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide, Tile& tile) const {
  tile.rows = rows;
  for (int r = 0; r < rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    read_next(block, i, 1, &tile.observations[static_cast<std::size_t>(r) * block.D]);
    const float* target = targets + i * static_cast<std::size_t>(outputs);
    for (int o = 0; o < outputs; ++o) {
      tile.targets[static_cast<std::size_t>(o) * kTileRows + r] = target[o];
    }
    tile.old_errors[r] = block.int_rewards[i];
  }
  normalizer->normalize(tile.observations.data(), rows, tile.observations.data());
}

template <class Real>
void rnd_errors(const Real* predicted, const Real* targets, int outputs, int rows, Real* errors) {
  std::fill_n(errors, rows, Real(0));
  for (int o = 0; o < outputs; ++o) {
    const Real* p = predicted + static_cast<std::size_t>(o) * kTileRows;
    const Real* t = targets + static_cast<std::size_t>(o) * kTileRows;
    for (int r = 0; r < rows; ++r) errors[r] += (p[r] - t[r]) * (p[r] - t[r]);
  }
  for (int r = 0; r < rows; ++r) errors[r] *= Real(0.5);
}

template <class Real>
void rnd_tile_gradient(const ActorCritic& network, int samples, const Real* params,
                       const Real* transposed, RndTile<Real>& tile, TileWorkspace<Real>& work,
                       Real* grads, RndSums& sums) {
  const int outputs = network.shape().action_outputs;
  const Real* seen = tile.observations.data();
  network.forward(params, seen, tile.rows, work, NetworkSide::kPolicy);
  rnd_errors(work.policy.data(), tile.targets.data(), outputs, tile.rows, tile.errors.data());
  const Real weight = Real(2) / (static_cast<Real>(outputs) * static_cast<Real>(samples));
  for (int o = 0; o < outputs; ++o) {
    const std::size_t row = static_cast<std::size_t>(o) * kTileRows;
    for (std::size_t i = row; i < row + static_cast<std::size_t>(tile.rows); ++i) {
      work.policy_delta[i] = weight * (work.policy[i] - tile.targets[i]);
    }
  }
  RndSums of_tile;
  for (int r = 0; r < tile.rows; ++r) {
    of_tile.loss += 2.0 * static_cast<double>(tile.errors[r]) / outputs;
    const double change = std::abs(static_cast<double>(tile.errors[r] - tile.old_errors[r]));
    if (!(change <= of_tile.max_error_change)) of_tile.max_error_change = change;
  }
  sums.add(of_tile);
  network.backward(params, transposed, seen, tile.rows, work, grads, NetworkSide::kPolicy);
}

#define BROADLOOM_INSTANTIATE(Real)                                                  \
  template void rnd_errors(const Real*, const Real*, int, int, Real*);               \
  template void rnd_tile_gradient(const ActorCritic&, int, const Real*, const Real*, \
                                  RndTile<Real>&, TileWorkspace<Real>&, Real*, RndSums&);
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
