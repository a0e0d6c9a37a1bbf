// A loss's gradient over a minibatch on the device, with the bits of PartialGradients
// (algo/partial_gradients.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/kernel_losses.h"
#include "cuda/tile_backward.h"
#include "cuda/tile_room.h"

namespace broadloom::cuda {

// Rows of a tile that a block works on at a time: two of the host's where that fits.
inline constexpr int kGradientRows = 2 * kTileRows;

// Of a network's tile and what a loss keeps behind it, after the numbers that are summed and a copy
// of a body's parameters. bytes: of shared memory that a block may have.
inline TileRoom gradient_room(const DeviceNetwork& network, std::size_t bytes) {
  const auto larger = [](int a, int b) { return a > b ? a : b; };
  return room_within(bytes, kGradientRows, kTileRows, [&](int rows, bool caches) {
    constexpr auto kUse = TilePlaces::kForwardAndBack;
    const int actor = TilePlaces(network.actor, rows, kUse).size + network.outputs * rows;
    const int valuer = TilePlaces(network.valuer(), rows, kUse).size;
    const int cached =
        larger(cached_floats(network.actor, true), cached_floats(network.valuer(), true));
    return TileRoom{rows, larger(actor, valuer), caches ? cached : 0, TileTerms::bytes(rows)};
  });
}

// Where a minibatch is, and where its gradient goes.
template <class Sums>
struct GradientPlaces {
  const std::int32_t* indices;  // [samples] into the block
  const AdvantageShift* shift;  // of the minibatch
  int samples, partials;        // partial_gradient_count() of them: the host's cut, and its bits
  float* partial_grads;         // [partials, P]
  Sums* sums;                   // [partials, sides]
  TileMemory tiles;             // of partials x sides blocks
};

// One block a partial gradient and side, so that two bodies go side by side; a shared one is one.
// Each walks its rows in order, some at a time: forward, loss, backward, all in shared memory with a
// copy of the weights, which at 64-64 takes 175 KB with 128 rows and 105 KB with 64; what is wider
// works in global memory. There are as many blocks as the host has tasks, 8 to 128: no more than
// that can keep the host's order of sums, in which a partial gradient is one chain over its rows.
template <class Loss>
struct GradientKernel {
  static constexpr int kThreads = 512;
  using Sums = typename Loss::Sums;

  DeviceNetwork network;
  const float* params;
  DeviceRollout rollout;
  Loss loss;
  GradientPlaces<Sums> places;

  static KernelShape shape(const DeviceNetwork& network, const TileRoom& room, int partials) {
    return {network.sides() * partials, kThreads, room.shared_bytes()};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = network.sides();
    const int p = block.index() / sides, side = block.index() % sides;
    const DeviceBody& body = network.body(side);
    float* const grads = places.partial_grads + static_cast<std::size_t>(p) * network.parameters;
    for (int i = body.begin + block.thread(); i < body.end; i += block.threads()) grads[i] = 0.0f;
    Sums& sums = places.sums[block.index()];
    if (block.thread() == 0) {
      sums = Sums();
      for (int a = 0; side == 0 && !network.is_discrete && a < network.outputs; ++a) {
        grads[network.log_std + a] = 0.0f;
      }
    }
    const TileTerms terms(block.template shared<double>(), places.tiles.rows);
    float* const shared = reinterpret_cast<float*>(terms.end());
    const TileParams read = places.tiles.cached > 0
                                ? cache_params(block, body, params, true, shared)
                                : TileParams{params};
    float* const work = places.tiles.of(block, shared);
    block.sync();
    const int end = row_of(p + 1);
    for (int first = row_of(p); first < end; first += places.tiles.rows) {
      const int left = end - first;
      const Rows rows{first, left < places.tiles.rows ? left : places.tiles.rows, side};
      run_rows(block, rows, read, terms, work, grads, sums);
    }
  }

 private:
  // Of the minibatch, that a block works on at a time.
  struct Rows {
    int first, count, side;
  };

  // Where partial gradient p begins: with a whole one of the host's tiles.
  BROADLOOM_HD int row_of(int p) const {
    const int tiles = (places.samples + kTileRows - 1) / kTileRows;
    const int row = p * tiles / places.partials * kTileRows;
    return row < places.samples ? row : places.samples;
  }

  template <class Block>
  BROADLOOM_HD void run_rows(Block& block, const Rows& rows, const TileParams& read,
                             const TileTerms& terms, float* work, float* grads, Sums& sums) const {
    const DeviceBody& body = network.body(rows.side);
    const TilePlaces at(body, places.tiles.rows, TilePlaces::kForwardAndBack);
    const std::int32_t* const indices = places.indices + rows.first;
    gather(block, indices, rows.count, work + at.x);
    block.sync();
    forward_tile(block, body, network.activation, read, at, work, rows.count);
    float* const outputs = work + at.outputs;
    const bool is_shared = body.has_two_heads(), is_critic = rows.side == 1;
    const LossTile tile{network,        params,
                        rollout,        *places.shift,
                        places.samples, rows.count,
                        at.rows,        !is_critic,
                        is_shared || is_critic,
                        outputs,        is_shared ? work + at.values : outputs,
                        work + at.size, terms};
    const int r = block.thread();
    if (r < rows.count) loss.row({tile, static_cast<std::size_t>(indices[r]), r});
    block.sync();
    for (int first = 0; first < rows.count; first += kTileRows) {
      const int left = rows.count - first;
      loss.add(block, tile.part(first, left < kTileRows ? left : kTileRows), sums, grads);
    }
    backward_tile(block, body, network.activation, read, at, work, rows.count, grads);
  }

  template <class Block>
  BROADLOOM_HD void gather(Block& block, const std::int32_t* indices, int rows, float* x) const {
    const int width = rollout.D;
    for (int e = block.thread(); e < rows * width; e += block.threads()) {
      const std::size_t row = static_cast<std::size_t>(indices[e / width]);
      x[e / width * TilePlaces::row(width) + e % width] =
          rollout.observations.read(row, e % width, width);
    }
  }
};

}  // namespace broadloom::cuda
