// From rows of a minibatch to the derivatives of all layers' outputs, with the bits of
// ActorCritic::backward. Works tile by tile in shared memory, if that holds a tile and the weights.
#pragma once

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"
#include "cuda/tile/room.h"

namespace broadloom::cuda {

// bytes: shared memory available to a block. The room spills if tiles must go layer by layer
// (delta_phases.h).
inline TileRoom delta_room(const DeviceNetwork& network, std::size_t bytes) {
  const auto larger = [](int a, int b) { return a > b ? a : b; };
  constexpr auto kUse = TilePlaces::kForwardAndBack;
  const int actor =
      TilePlaces(network.actor, kTileRows, kUse).size + network.kept_numbers() * kTileRows;
  const int valuer = TilePlaces(network.valuer(), kTileRows, kUse).size;
  const int cached =
      larger(cached_floats(network.actor, true), cached_floats(network.valuer(), true));
  TileRoom room{kTileRows, larger(actor, valuer), cached, TileTerms::kBytes};
  room.spills = room.wanted_bytes() > bytes || network.actor.residual.are_there();
  return room;
}

// Copies a tile's results to the arrays of all rows, from which the weight derivatives are
// computed.
template <class Team>
BROADLOOM_HD void hand_on(const Team& all, const DeviceBody& body, const TilePlaces& source,
                          const float* own, const TilePlaces& target, float* arrays,
                          const RowsAtHand::Tile& tile) {
  const auto rows = [&](int own_begin, int there, int row) {
    copy_fours(all, own + own_begin, tile.count * row, arrays + there + tile.row * row);
  };
  const auto columns = [&](int own_begin, int there, int count) {
    for (int e = all.thread(); e < count * tile.count; e += all.threads()) {
      const int c = e / tile.count, r = e % tile.count;
      arrays[there + c * target.rows + tile.row + r] = own[own_begin + c * source.rows + r];
    }
  };
  rows(source.x, target.x, TilePlaces::row(body.row_in()));
  for (int l = 0; l < body.layers; ++l) {
    const int row = TilePlaces::row(body.hidden[l].row_out());
    rows(source.hidden[l], target.hidden[l], row);
    rows(source.delta[l], target.delta[l], row);
    if (!body.norms[l].is_there()) continue;
    rows(source.linear[l], target.linear[l], row);
    rows(source.before[l], target.before[l], row);
  }
  columns(source.outputs, target.outputs, body.head.out);
  columns(source.values, target.values, body.value_head.out);
}

// A block serves one side of the network, whose weights it keeps, and loops over tiles. A 64-64
// network takes 110 KB of shared memory, so a multiprocessor of an H100 runs two blocks.
template <class Loss>
struct DeltaKernel {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  LossWork<Loss> loss_work;
  TilePlaces places[2];  // layout of a tile, per side

  static KernelShape shape(const DeviceNetwork& network, const TileRoom& room, int tiles,
                           int multiprocessors) {
    const int at_once = 2 * multiprocessors, all = network.sides() * tiles;
    return {at_once < all ? at_once / network.sides() * network.sides() : all, kThreads,
            room.shared_bytes()};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = loss_work.work.network.sides(), side = block.index() % sides;
    const DeviceBody& body = loss_work.work.network.body(side);
    double* const terms = block.template shared<double>();
    float* const shared = reinterpret_cast<float*>(terms) + TileTerms::kBytes / sizeof(float);
    const TileParams read = cache_params(block, body, loss_work.work.params, true, shared);
    float* const own = shared + cached_floats(body, true);
    for (int t = block.index() / sides; t < loss_work.work.rows.tiles();
         t += block.blocks() / sides) {
      if (loss_work.work.rows.tile(t).count > 0) run_tile(block, t, side, read, own, terms);
      block.sync();
    }
  }

 private:
  template <class Block>
  BROADLOOM_HD void run_tile(Block& block, int t, int side, const TileParams& read, float* own,
                             double* terms) const {
    const DeviceBody& body = loss_work.work.network.body(side);
    const Activation activation = loss_work.work.network.activation;
    const RowsAtHand::Tile tile = loss_work.work.rows.tile(t);
    const TilePlaces& own_at = places[side];
    gather_rows(block, loss_work.loss.seen(loss_work.rollout, side),
                loss_work.indices + tile.in_minibatch, body.row_in(), tile.count, own + own_at.x);
    block.sync();
    fetch_ahead(block, t + block.blocks() / loss_work.work.network.sides());
    forward_tile(block, body, activation, read, own_at, own, tile.count);
    loss_work.run(block, t, side, own + own_at.outputs, own + own_at.values, own + own_at.size,
                  own_at.rows, terms);
    const HeadDeltas heads{own + own_at.outputs, own + own_at.values, own_at.rows};
    backward_tile(block, body, activation, read, own_at, heads, own, tile.count);
    hand_on(block, body, own_at, own, loss_work.work.places[side], loss_work.work.of_side(side),
            tile);
  }

  // Rows of the minibatch are scattered over memory, so the next tile's rows are prefetched.
  template <class Block>
  BROADLOOM_HD void fetch_ahead(Block& block, int t) const {
    if (t >= loss_work.work.rows.tiles()) return;
    const RowsAtHand::Tile next = loss_work.work.rows.tile(t);
    if (block.thread() >= next.count) return;
    const std::size_t row =
        static_cast<std::size_t>(loss_work.indices[next.in_minibatch + block.thread()]);
    loss_work.loss.fetch_ahead(loss_work.rollout, row);
  }
};

}  // namespace broadloom::cuda
