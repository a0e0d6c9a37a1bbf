#include "broadloom/learn/rnd_loss.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/learn/rnd_formulas.h"

namespace broadloom {

Status RndLosses::take(const RndSums& sums, int samples) {
  if (steps_ == 0 && sums.max_error_change != 0.0) {
    return {ErrorKind::kNumeric,
            fmt::format("the first minibatch has prediction errors that differ by {} from those "
                        "that the block was rewarded with; expected exactly 0. The parameters, "
                        "observations or statistics changed in between, or are not finite.",
                        sums.max_error_change)};
  }
  loss_ += sums.loss / samples;
  steps_ += 1;
  return {};
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
    for (int r = 0; r < rows; ++r) errors[r] = add_rnd_error(errors[r], p[r], t[r]);
  }
  for (int r = 0; r < rows; ++r) errors[r] = rnd_novelty(errors[r]);
}

template <class Real>
void rnd_tile_gradient(const ActorCritic& network, int samples, const Real* params,
                       const Real* transposed, RndTile<Real>& tile, TileWorkspace<Real>& work,
                       Real* grads, RndSums& sums) {
  const int outputs = network.shape().action_outputs;
  const Real* seen = tile.observations.data();
  network.forward(params, seen, tile.rows, work, NetworkSide::kPolicy);
  rnd_errors(work.policy.data(), tile.targets.data(), outputs, tile.rows, tile.errors.data());
  const Real weight = rnd_weight<Real>(outputs, samples);
  for (int o = 0; o < outputs; ++o) {
    const std::size_t row = static_cast<std::size_t>(o) * kTileRows;
    for (std::size_t i = row; i < row + static_cast<std::size_t>(tile.rows); ++i) {
      work.policy_delta[i] = weight * (work.policy[i] - tile.targets[i]);
    }
  }
  RndSums tile_sums;
  for (int r = 0; r < tile.rows; ++r) {
    tile_sums.loss += rnd_sample_loss(tile.errors[r], outputs);
    tile_sums.keep_change(rnd_novelty_change(tile.errors[r], tile.old_errors[r]));
  }
  sums.add(tile_sums);
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
