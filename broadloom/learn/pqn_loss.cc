#include "broadloom/learn/pqn_loss.h"

#include <algorithm>
#include <cmath>

#include "broadloom/learn/pqn_formulas.h"

namespace broadloom {

void PqnLoss::gather(const RolloutBlock& block, const std::int32_t* indices, int rows,
                     const Context&, NetworkSide, Tile& tile) {
  tile.rows = rows;
  for (int r = 0; r < rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    block.observations.read(i, 1, &tile.observations[static_cast<std::size_t>(r) * block.D]);
    tile.actions[r] = block.actions[i];
    tile.targets[r] = block.advantages[i] + block.values[i];
    tile.old_values[r] = block.values[i];
  }
}

template <class Real>
void pqn_tile_gradient(const ActorCritic& network, double vf_coef, int samples, const Real* params,
                       const Real* transposed, PqnTile<Real>& tile, TileWorkspace<Real>& work,
                       Real* grads, PqnSums& sums) {
  const Real weight = static_cast<Real>(vf_coef) / static_cast<Real>(samples);
  network.forward(params, tile.observations.data(), tile.rows, work);
  std::fill(work.policy_delta.begin(), work.policy_delta.end(), Real(0));
  PqnSums tile_sums;
  for (int r = 0; r < tile.rows; ++r) {
    const int place = static_cast<int>(tile.actions[r]) * kTileRows + r;
    const SamplePqnLoss<Real> one(weight, work.policy[place], tile.targets[r]);
    work.policy_delta[place] = one.d_value;
    tile_sums.td_loss += one.loss;
    tile_sums.q_values += static_cast<double>(work.policy[place]);
    const double change = std::abs(static_cast<double>(work.values[r] - tile.old_values[r]));
    if (!(change <= tile_sums.max_value_error)) tile_sums.max_value_error = change;
  }
  sums.add(tile_sums);
  network.backward(params, transposed, tile.observations.data(), tile.rows, work, grads);
}

template void pqn_tile_gradient(const ActorCritic&, double, int, const float*, const float*,
                                PqnTile<float>&, TileWorkspace<float>&, float*, PqnSums&);
template void pqn_tile_gradient(const ActorCritic&, double, int, const double*, const double*,
                                PqnTile<double>&, TileWorkspace<double>&, double*, PqnSums&);

}  // namespace broadloom
