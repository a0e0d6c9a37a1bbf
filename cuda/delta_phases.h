// The same as DeltaKernel where a tile does not fit shared memory: layer after layer over all rows
// at once, each a launch that spreads over the whole device, in the arrays themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/gradient_work.h"
#include "cuda/tile_backward.h"

namespace broadloom::cuda {

// Some blocks of a launch as one, for what exchanges nothing beyond a warp.
template <class Block>
struct GridTeam {
  Block& block;
  int first, blocks;

  BROADLOOM_HD int thread() const {
    return (block.index() - first) * block.threads() + block.thread();
  }
  BROADLOOM_HD int threads() const { return blocks * block.threads(); }
  template <class T>
  BROADLOOM_HD T shuffle_xor(T x, int mask) {
    return block.shuffle_xor(x, mask);
  }
};

// f(team, side), each side by its share of the blocks.
template <class Block, class F>
BROADLOOM_HD void each_side(Block& block, const DeviceNetwork& network, F&& f) {
  const int each = block.blocks() / network.sides(), side = block.index() / each;
  if (side < network.sides()) f(GridTeam<Block>{block, side * each, each}, side);
}

// The rows at hand, and turned weights.
template <class Loss>
struct GatherPhase {
  static constexpr int kThreads = 256;
  LossWork<Loss> of;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.work.network, [&](const GridTeam<Block>& team, int side) {
      const DeviceBody& body = of.work.network.body(side);
      gather(team, of.work.of_side(side) + of.work.places(body).x);
      if (!of.work.rows.is_first()) return;
      for (int l = 1; l < body.layers; ++l) {
        const DeviceLayer& layer = body.hidden[l];
        transpose(team, of.work.params + layer.weight, layer.in, layer.out,
                  of.work.transposed + layer.weight);
      }
    });
  }

 private:
  // Where there is no row, nobody learns from it.
  template <class Team>
  BROADLOOM_HD void gather(const Team& team, float* x) const {
    const int width = of.rollout.D, row = TilePlaces::row(width);
    for (int e = team.thread(); e < of.work.rows.all() * width; e += team.threads()) {
      const int at = e / width, i = e % width;
      const RowsAtHand::Tile tile = of.work.rows.tile(at / kTileRows);
      const int r = at % kTileRows;
      if (r >= tile.count) {
        x[at * row + i] = 0.0f;
        continue;
      }
      const std::size_t in_block = static_cast<std::size_t>(of.indices[tile.in_minibatch + r]);
      x[at * row + i] = of.rollout.observations.read(in_block, i, width);
    }
  }
};

// Layer l, activated where nothing normalises it.
template <class Sums>
struct ForwardPhase {
  static constexpr int kThreads = 256;
  GradientWork<Sums> of;
  int l;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.network, [&](const GridTeam<Block>& team, int side) {
      const DeviceBody& body = of.network.body(side);
      if (l >= body.layers) return;
      const TilePlaces at = of.places(body);
      float* const arrays = of.of_side(side);
      forward_layer(team, body.hidden[l], Finish{of.network.activation, body.norms[l].is_there()},
                    of.read(), arrays + (l > 0 ? at.hidden[l - 1] : at.x), arrays + at.linear[l],
                    of.rows.all());
    });
  }
};

// What normalises layer l, forward, or back from delta to what stands before it.
template <class Sums>
struct NormPhase {
  static constexpr int kThreads = 256;
  GradientWork<Sums> of;
  int l;
  bool goes_back;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.network, [&](GridTeam<Block> team, int side) {
      const DeviceBody& body = of.network.body(side);
      if (l >= body.layers || !body.norms[l].is_there()) return;
      const TilePlaces at = of.places(body);
      float* const arrays = of.of_side(side);
      float *const linear = arrays + at.linear[l], *const moments = arrays + at.moments[l];
      if (goes_back) {
        norm_backward(team, body.norms[l], of.read(), arrays + at.delta[l], moments, linear,
                      arrays + at.before[l], of.rows.all());
      } else {
        norm_forward(team, body.norms[l], of.network.activation, of.read(), linear, moments,
                     arrays + at.hidden[l], of.rows.all());
      }
    });
  }
};

// Heads, loss, and back to the last layer, a block a tile and side.
template <class Loss>
struct LossPhase {
  static constexpr int kThreads = 256;
  LossWork<Loss> of;

  static KernelShape shape(const DeviceNetwork& network, int tiles) {
    return {network.sides() * tiles, kThreads, TileTerms::bytes(kTileRows)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const DeviceNetwork& network = of.work.network;
    const int t = block.index() / network.sides(), side = block.index() % network.sides();
    const RowsAtHand::Tile tile = of.work.rows.tile(t);
    if (tile.count == 0) return;
    const DeviceBody& body = network.body(side);
    const TilePlaces at = of.work.places(body);
    const int offset = tile.row * TilePlaces::row(body.head.in);
    float* const arrays = of.work.of_side(side);
    const float* const top = arrays + at.top(body) + offset;
    float *const outputs = arrays + at.outputs + tile.row, *const values = arrays + at.values + tile.row;
    forward_head(block, body.head, of.work.read(), top, outputs, at.rows, tile.count);
    forward_head(block, body.value_head, of.work.read(), top, values, at.rows, tile.count);
    block.sync();
    of.run(block, t, side, outputs, values, arrays + at.size + tile.row, at.rows,
           block.template shared<double>());
    if (body.layers == 0) return;
    backward_heads(whole_team(block), body, network.activation, of.work.read(),
                   HeadDeltas{outputs, values, at.rows}, top, tile.count,
                   arrays + at.delta[body.layers - 1] + offset);
  }
};

// From layer l to the delta of the one below.
template <class Sums>
struct BackwardPhase {
  static constexpr int kThreads = 256;
  GradientWork<Sums> of;
  int l;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.network, [&](const GridTeam<Block>& team, int side) {
      const DeviceBody& body = of.network.body(side);
      if (l >= body.layers) return;
      const TilePlaces at = of.places(body);
      float* const arrays = of.of_side(side);
      backward_layer(team, body.hidden[l], of.network.activation, of.read(),
                     arrays + at.hidden[l - 1],
                     arrays + (body.norms[l].is_there() ? at.before[l] : at.delta[l]),
                     of.rows.all(), arrays + at.delta[l - 1]);
    });
  }
};

}  // namespace broadloom::cuda
