// A loss's gradient over a minibatch on the device, with the bits of PartialGradients
// (algo/partial_gradients.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/kernel_losses.h"
#include "cuda/tile_backward.h"
#include "cuda/tile_room.h"

namespace broadloom::cuda {

inline constexpr int kGradientThreads = 256;
// Of a network's tile and what a loss keeps behind it, after the numbers that are summed.
inline TileRoom gradient_room(const DeviceNetwork& network) {
  constexpr auto kUse = TilePlaces::kForwardAndBack;
  const int actor = TilePlaces(network.actor, kTileRows, kUse).size + network.outputs * kTileRows;
  const int valuer = TilePlaces(network.valuer(), kTileRows, kUse).size;
  return {actor > valuer ? actor : valuer, TileTerms::kBytes};
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
// Each walks its tiles of kTileRows rows in order: forward, loss, backward, all in shared memory,
// which at 64-64 with four observations and two outputs takes 39 KB; what is wider works in global
// memory. Weights are read through the cache: at 64-64 both bodies are 36 KB. There are as many
// blocks as the host has tasks, 8 to 128: no more than that can keep the host's order of sums, in
// which a partial gradient is one chain over its rows.
template <class Loss>
struct GradientKernel {
  using Sums = typename Loss::Sums;

  DeviceNetwork network;
  const float* params;
  DeviceRollout rollout;
  Loss loss;
  GradientPlaces<Sums> places;

  static KernelShape shape(const DeviceNetwork& network, int partials) {
    return {network.sides() * partials, kGradientThreads, gradient_room(network).shared_bytes()};
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
    block.sync();
    const int tiles = (places.samples + kTileRows - 1) / kTileRows;
    for (int tile = p * tiles / places.partials; tile < (p + 1) * tiles / places.partials; ++tile) {
      run_tile(block, tile * kTileRows, side, grads, sums);
    }
  }

 private:
  template <class Block>
  BROADLOOM_HD void run_tile(Block& block, int first, int side, float* grads, Sums& sums) const {
    const TileTerms terms(block.template shared<double>());
    float* const work = places.tiles.of(block, reinterpret_cast<float*>(terms.end()));
    const DeviceBody& body = network.body(side);
    const TilePlaces at(body, kTileRows, TilePlaces::kForwardAndBack);
    const std::int32_t* const indices = places.indices + first;
    const int left = places.samples - first, rows = left < kTileRows ? left : kTileRows;
    gather(block, indices, rows, work + at.x);
    block.sync();
    forward_tile(block, body, network.activation, params, at, work, rows);
    float* const outputs = work + at.outputs;
    const bool is_shared = body.has_two_heads(), is_critic = side == 1;
    const LossTile tile{network,        params,
                        rollout,        *places.shift,
                        places.samples, rows,
                        !is_critic,     is_shared || is_critic,
                        outputs,        is_shared ? work + at.values : outputs,
                        work + at.size, terms};
    const int r = block.thread();
    if (r < rows) loss.row({tile, static_cast<std::size_t>(indices[r]), r});
    block.sync();
    loss.add(r, tile, sums, grads);
    backward_tile(block, body, network.activation, params, at, work, rows, grads);
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
