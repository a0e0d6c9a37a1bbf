// DeltaKernel for tiles that do not fit into shared memory. Works on all rows at once in the
// arrays; each phase is a launch that spreads over the whole device.
//
// One phase covers all work of a row that needs nothing of other blocks. One such phase leads from
// the gathered row to its normalised convolution, another from the last product back to before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// Some blocks of a launch as one team, for work that exchanges data only within a warp.
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

// Calls f(team, side); each side has an equal share of the blocks.
template <class Block, class F>
BROADLOOM_HD void each_side(Block& block, const DeviceNetwork& network, F&& f) {
  const int each = block.blocks() / network.sides(), side = block.index() / each;
  if (side < network.sides()) f(GridTeam<Block>{block, side * each, each}, side);
}

// Gathers the present rows and runs a convolution with its norm, some rows at a time per block.
// Also transposes weights.
template <class Loss>
struct RowsPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  LossWork<Loss> of;
  int at_once;  // rows per block

  static RowsPhase make(const LossWork<Loss>& of, int multiprocessors) {
    const int all = of.work.rows.all() * of.work.network.sides(), blocks = 2 * multiprocessors;
    return {of, std::min((all + blocks - 1) / blocks, 1024)};
  }
  KernelShape shape(int multiprocessors) const {
    const int sides = of.work.network.sides(), all = of.work.rows.all();
    const int wanted = (all + at_once - 1) / at_once, most = 2 * multiprocessors / sides;
    return {sides * std::clamp(wanted, 1, std::max(1, most)), kThreads, sizeof(int) * at_once};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.work.network, [&](const GridTeam<Block>& team, int side) {
      const int all = of.work.rows.all(), next = team.blocks * at_once;
      for (int first = (block.index() - team.first) * at_once; first < all; first += next) {
        make_rows(block, side, first, all - first < at_once ? all - first : at_once);
      }
      if (of.work.rows.is_first()) turn_weights(team, of.work.network.body(side));
    });
  }

 private:
  template <class Block>
  BROADLOOM_HD void make_rows(Block& block, int side, int first, int rows) const {
    const DeviceBody& body = of.work.network.body(side);
    const TilePlaces& at = of.work.at[side];
    float* const arrays = of.work.of_side(side);
    float* const x = arrays + at.x + first * TilePlaces::row(body.row_in());
    gather(block, first, rows, x);
    if (!body.begins_with_image()) return;
    const DeviceLayer& layer = body.hidden[0];
    const DeviceNorm& norm = body.norms[0];
    const int begin = first * TilePlaces::row(layer.row_out());
    float* const linear = arrays + at.linear[0] + begin;
    block.sync();
    forward_layer(block, layer, Finish{of.work.network.activation, norm.is_there()}, of.work.read(),
                  x, linear, rows);
    if (!norm.is_there()) return;
    block.sync();
    norm_forward(block, norm, of.work.network.activation, of.work.read(), linear,
                 arrays + at.moments[0] + 2 * first * norm.parts, linear,
                 arrays + at.hidden[0] + begin, rows);
  }

  // Missing rows are zero; no loss reads them.
  template <class Block>
  BROADLOOM_HD void gather(Block& block, int first, int rows, float* x) const {
    const int width = of.rollout.D, row = TilePlaces::row(width);
    const auto& seen = of.loss.seen(of.rollout);
    int* const in_block = block.template shared<int>();  // indices into the block; -1: no row
    block.sync();                                        // no thread reads the old rows any more
    for (int r = block.thread(); r < rows; r += block.threads()) {
      const RowsAtHand::Tile tile = of.work.rows.tile((first + r) / kTileRows);
      const int within = (first + r) % kTileRows;
      in_block[r] = within < tile.count ? of.indices[tile.in_minibatch + within] : -1;
    }
    block.sync();
    over_elements(block, rows, width, [&](int r) {
      const int from = in_block[r];
      float* const to = x + r * row;
      return [&seen, from, to, width](int i) {
        to[i] = from < 0 ? 0.0f : seen.read(static_cast<std::size_t>(from), i, width);
      };
    });
  }

  template <class Team>
  BROADLOOM_HD void turn_weights(const Team& team, const DeviceBody& body) const {
    for (int l = 1; l < body.layers; ++l) {
      const DeviceLayer& layer = body.hidden[l];
      transpose(team, of.work.params + layer.weight, layer.in, layer.out,
                of.work.transposed + layer.weight);
    }
  }
};

// Normalisation of layer l: forward, or backward from delta to the derivative before it. LossPhase
// does this for the last layer, and RowsPhase does the forward pass for an image's layer.
template <class Sums>
struct NormPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  GradientWork<Sums> of;
  int l;
  bool goes_back;

  // Whether a body needs this phase.
  BROADLOOM_HD static bool is_for(const DeviceBody& body, int l, bool goes_back) {
    if (l >= body.layers - 1 || !body.norms[l].is_there()) return false;
    return goes_back || !body.is_of_image(l);
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, of.network, [&](GridTeam<Block> team, int side) {
      const DeviceBody& body = of.network.body(side);
      if (!is_for(body, l, goes_back)) return;
      const TilePlaces& at = of.at[side];
      float* const arrays = of.of_side(side);
      float *const linear = arrays + at.linear[l], *const moments = arrays + at.moments[l];
      if (goes_back) {
        norm_backward(team, body.norms[l], of.read(), arrays + at.delta[l], moments, linear,
                      arrays + at.before[l], of.rows.all());
      } else {
        norm_forward(team, body.norms[l], of.network.activation, of.read(), linear, moments, linear,
                     arrays + at.hidden[l], of.rows.all());
      }
    });
  }
};

// Normalisation of the last layer, heads, loss, and back to before that layer. A block has some
// rows of a tile on one side.
template <class Loss>
struct LossPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2, kRows = 16;
  LossWork<Loss> of;

  static KernelShape shape(const DeviceNetwork& network, int tiles) {
    return {network.sides() * tiles * (kTileRows / kRows), kThreads, 0};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    constexpr int kParts = kTileRows / kRows;
    const DeviceNetwork& network = of.work.network;
    const int side = block.index() % network.sides(), part = block.index() / network.sides();
    const int t = part / kParts, first = part % kParts * kRows;
    const RowsAtHand::Tile tile = of.work.rows.tile(t);
    const int left = tile.count - first, rows = left < kRows ? left : kRows, row = tile.row + first;
    if (rows <= 0) return;
    const DeviceBody& body = network.body(side);
    const TilePlaces& at = of.work.at[side];
    float* const arrays = of.work.of_side(side);
    const float* const top = arrays + at.top(body) + row * TilePlaces::row(body.head.in);
    const Last last(body, at, arrays, row);
    if (last.is_normalised && !body.is_of_image(body.layers - 1)) {
      norm_forward(block, last.norm, network.activation, of.work.read(), last.linear, last.moments,
                   last.linear, last.hidden, rows);
      block.sync();
    }
    float *const outputs = arrays + at.outputs + row, *const values = arrays + at.values + row;
    forward_head(block, body.head, of.work.read(), top, outputs, at.rows, rows);
    forward_head(block, body.value_head, of.work.read(), top, values, at.rows, rows);
    block.sync();
    if (block.thread() < rows) {
      const LossTile all = loss_tile(of, tile, side, of.work.terms_of(t, side));
      of.take_row(all, tile, first + block.thread());
    }
    block.sync();
    if (body.layers == 0) return;
    backward_heads(block, body, network.activation, of.work.read(),
                   HeadDeltas{outputs, values, at.rows}, top, rows, last.delta);
    if (!last.is_normalised) return;
    block.sync();
    norm_backward(block, last.norm, of.work.read(), last.delta, last.moments, last.linear,
                  last.before, rows);
  }

  // A tile in the arrays of all rows. memory: for its TileTerms.
  BROADLOOM_HD static LossTile loss_tile(const LossWork<Loss>& of, const RowsAtHand::Tile& tile,
                                         int side, double* memory) {
    const TilePlaces& at = of.work.at[side];
    float* const arrays = of.work.of_side(side) + tile.row;
    return of.tile(tile, side, arrays + at.outputs, arrays + at.values, arrays + at.size, at.rows,
                   memory);
  }

 private:
  // The last layer's arrays, starting at a row.
  struct Last {
    DeviceNorm norm;
    bool is_normalised;
    float *linear, *hidden, *delta, *before, *moments;

    BROADLOOM_HD Last(const DeviceBody& body, const TilePlaces& at, float* arrays, int row) {
      is_normalised = false;
      linear = hidden = delta = before = moments = nullptr;
      if (body.layers == 0) return;
      const int l = body.layers - 1;
      const int begin = row * TilePlaces::row(body.hidden[l].row_out());
      norm = body.norms[l];
      is_normalised = norm.is_there();
      linear = arrays + at.linear[l] + begin;
      hidden = arrays + at.hidden[l] + begin;
      delta = arrays + at.delta[l] + begin;
      before = arrays + at.before[l] + begin;
      moments = arrays + at.moments[l] + 2 * row * norm.parts;
    }
  };
};

// Adds up the per-row terms of LossPhase, one block per tile and side.
template <class Loss>
struct SumsPhase {
  static constexpr int kThreads = 256;
  LossWork<Loss> of;

  static KernelShape shape(const DeviceNetwork& network, int tiles) {
    return {network.sides() * tiles, kThreads, TileTerms::kBytes};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = of.work.network.sides(), t = block.index() / sides;
    const int side = block.index() % sides;
    const RowsAtHand::Tile tile = of.work.rows.tile(t);
    if (tile.count == 0) return;
    double* const own = block.template shared<double>();
    const double* const terms = of.work.terms_of(t, side);
    for (int i = block.thread(); i < static_cast<int>(TileTerms::kCount); i += block.threads()) {
      own[i] = terms[i];
    }
    if (block.thread() == 0) of.sums(t, side) = typename Loss::Sums();
    block.sync();
    of.add(block, LossPhase<Loss>::loss_tile(of, tile, side, own), t, side);
  }
};

}  // namespace broadloom::cuda
