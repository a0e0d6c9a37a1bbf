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
  LossWork<Loss> loss_work;
  int at_once;  // rows per block

  static RowsPhase make(const LossWork<Loss>& source, int multiprocessors) {
    const int all = source.work.rows.all() * source.work.network.sides(),
              blocks = 2 * multiprocessors;
    return {source, std::min((all + blocks - 1) / blocks, 1024)};
  }
  KernelShape shape(int multiprocessors) const {
    const int sides = loss_work.work.network.sides(), all = loss_work.work.rows.all();
    const int wanted = (all + at_once - 1) / at_once, most = 2 * multiprocessors / sides;
    return {sides * std::clamp(wanted, 1, std::max(1, most)), kThreads, sizeof(int) * at_once};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, loss_work.work.network, [&](const GridTeam<Block>& team, int side) {
      const int all = loss_work.work.rows.all(), next = team.blocks * at_once;
      for (int first = (block.index() - team.first) * at_once; first < all; first += next) {
        make_rows(block, side, first, all - first < at_once ? all - first : at_once);
      }
      if (loss_work.work.rows.is_first()) turn_weights(team, loss_work.work.network.body(side));
    });
  }

 private:
  template <class Block>
  BROADLOOM_HD void make_rows(Block& block, int side, int first, int rows) const {
    const DeviceBody& body = loss_work.work.network.body(side);
    const TilePlaces& places = loss_work.work.places[side];
    float* const arrays = loss_work.work.of_side(side);
    float* const x = arrays + places.x + first * TilePlaces::row(body.row_in());
    gather(block, side, first, rows, x);
    if (!body.begins_with_image()) return;
    const DeviceLayer& layer = body.hidden[0];
    const DeviceNorm& norm = body.norms[0];
    const int begin = first * TilePlaces::row(layer.row_out());
    float* const linear = arrays + places.linear[0] + begin;
    block.sync();
    forward_layer(block, layer, Finish{loss_work.work.network.activation, norm.is_there()},
                  loss_work.work.read(), x, linear, rows);
    if (!norm.is_there()) return;
    block.sync();
    norm_forward(block, norm, loss_work.work.network.activation, loss_work.work.read(), linear,
                 arrays + places.moments[0] + 2 * first * norm.parts, linear,
                 arrays + places.hidden[0] + begin, rows);
  }

  // Missing rows are zero; no loss reads them.
  template <class Block>
  BROADLOOM_HD void gather(Block& block, int side, int first, int rows, float* x) const {
    const int width = loss_work.work.network.body(side).row_in(), row = TilePlaces::row(width);
    const auto& seen = loss_work.loss.seen(loss_work.rollout, side);
    int* const in_block = block.template shared<int>();  // indices into the block; -1: no row
    block.sync();                                        // no thread reads the old rows any more
    for (int r = block.thread(); r < rows; r += block.threads()) {
      const RowsAtHand::Tile tile = loss_work.work.rows.tile((first + r) / kTileRows);
      const int row_in_tile = (first + r) % kTileRows;
      in_block[r] =
          row_in_tile < tile.count ? loss_work.indices[tile.in_minibatch + row_in_tile] : -1;
    }
    block.sync();
    over_elements(block, rows, width, [&](int r) {
      const int row_in_block = in_block[r];
      float* const target = x + r * row;
      return [&seen, row_in_block, target, width](int i) {
        target[i] =
            row_in_block < 0 ? 0.0f : seen.read(static_cast<std::size_t>(row_in_block), i, width);
      };
    });
  }

  template <class Team>
  BROADLOOM_HD void turn_weights(const Team& team, const DeviceBody& body) const {
    const auto turn = [&](int weight, int in, int out) {
      transpose(team, loss_work.work.params + weight, in, out, loss_work.work.transposed + weight);
    };
    for (int s = 0; s < body.residual.count; ++s) {
      for (int c = s > 0 ? 0 : 1; c < ResidualSection::kConvolutions; ++c) {
        const SameConvolution layer = body.residual.sections[s].convolution(c);
        turn(layer.weight, layer.patch(), layer.filters);
      }
    }
    for (int l = body.residual.are_there() ? 0 : 1; l < body.layers; ++l) {
      const DeviceLayer& layer = body.hidden[l];
      turn(layer.weight, layer.in, layer.out);
    }
  }
};

// Normalisation of layer l: forward, or backward from delta to the derivative before it. LossPhase
// does this for the last layer, and RowsPhase does the forward pass for an image's layer.
template <class Sums>
struct NormPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  GradientWork<Sums> work;
  int l;
  bool goes_back;

  // Whether a body needs this phase.
  BROADLOOM_HD static bool is_for(const DeviceBody& body, int l, bool goes_back) {
    if (l >= body.layers - 1 || !body.norms[l].is_there()) return false;
    return goes_back || !body.is_of_image(l);
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, work.network, [&](GridTeam<Block> team, int side) {
      const DeviceBody& body = work.network.body(side);
      if (!is_for(body, l, goes_back)) return;
      const TilePlaces& places = work.places[side];
      float* const arrays = work.of_side(side);
      float *const linear = arrays + places.linear[l], *const moments = arrays + places.moments[l];
      if (goes_back) {
        norm_backward(team, body.norms[l], work.read(), arrays + places.delta[l], moments, linear,
                      arrays + places.before[l], work.rows.all());
      } else {
        norm_forward(team, body.norms[l], work.network.activation, work.read(), linear, moments,
                     linear, arrays + places.hidden[l], work.rows.all());
      }
    });
  }
};

// A convolution that reads another layer's output: forward, or backward to the delta of the layer
// below. RowsPhase has the forward pass of the one that reads the image.
template <class Sums>
struct ConvolutionPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  GradientWork<Sums> work;
  int l;
  bool goes_back;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, work.network, [&](GridTeam<Block> team, int side) {
      const DeviceBody& body = work.network.body(side);
      const DeviceLayer& layer = body.hidden[l];
      const TilePlaces& places = work.places[side];
      float* const arrays = work.of_side(side);
      const float* const inputs = arrays + places.hidden[l - 1];
      const Activation activation = work.network.activation;
      const bool is_normalised = body.norms[l].is_there();
      if (goes_back) {
        const float* const delta = arrays + (is_normalised ? places.before[l] : places.delta[l]);
        backward_layer(team, layer, activation, work.read(), inputs, delta, work.rows.all(),
                       arrays + places.delta[l - 1]);
      } else {
        forward_layer(team, layer, Finish{activation, is_normalised}, work.read(), inputs,
                      arrays + places.linear[l], work.rows.all());
      }
    });
  }
};

// A step of residual sections, forward or back.
template <class Sums>
struct ResidualPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2;
  GradientWork<Sums> work;
  int s, step;
  bool goes_back;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    each_side(block, work.network, [&](GridTeam<Block> team, int side) {
      const TilePlaces& places = work.places[side];
      const ResidualStep one{work.network.body(side).residual, places.residual, places.x, s, step};
      const Activation activation = work.network.activation;
      if (goes_back) {
        one.back(team, activation, work.read(), work.of_side(side), work.rows.all());
      } else {
        one.forward(team, activation, work.read(), work.of_side(side), work.rows.all());
      }
    });
  }
};

// Normalisation of the last layer, heads, loss, and back to before that layer. A block has some
// rows of a tile on one side.
template <class Loss>
struct LossPhase {
  static constexpr int kThreads = 256, kBlocksAtOnce = 2, kRows = 16;
  LossWork<Loss> loss_work;

  static KernelShape shape(const DeviceNetwork& network, int tiles) {
    return {network.sides() * tiles * (kTileRows / kRows), kThreads, 0};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    constexpr int kParts = kTileRows / kRows;
    const DeviceNetwork& network = loss_work.work.network;
    const int side = block.index() % network.sides(), part = block.index() / network.sides();
    const int t = part / kParts, first = part % kParts * kRows;
    const RowsAtHand::Tile tile = loss_work.work.rows.tile(t);
    const int left = tile.count - first, rows = left < kRows ? left : kRows, row = tile.row + first;
    if (rows <= 0) return;
    const DeviceBody& body = network.body(side);
    const TilePlaces& places = loss_work.work.places[side];
    float* const arrays = loss_work.work.of_side(side);
    const float* const top = arrays + places.top(body) + row * TilePlaces::row(body.head.in);
    const Last last(body, places, arrays, row);
    if (last.is_normalised && !body.is_of_image(body.layers - 1)) {
      norm_forward(block, last.norm, network.activation, loss_work.work.read(), last.linear,
                   last.moments, last.linear, last.hidden, rows);
      block.sync();
    }
    float *const outputs = arrays + places.outputs + row, *const values =
                                                              arrays + places.values + row;
    forward_head(block, body.head, loss_work.work.read(), top, outputs, places.rows, rows);
    forward_head(block, body.value_head, loss_work.work.read(), top, values, places.rows, rows);
    block.sync();
    if (block.thread() < rows) {
      const LossTile all = loss_tile(loss_work, tile, side, loss_work.work.terms_of(t, side));
      loss_work.take_row(all, tile, first + block.thread());
    }
    block.sync();
    if (last.delta == nullptr) return;
    backward_heads(block, body, network.activation, loss_work.work.read(),
                   HeadDeltas{outputs, values, places.rows}, top, rows, last.delta);
    if (!last.is_normalised) return;
    block.sync();
    norm_backward(block, last.norm, loss_work.work.read(), last.delta, last.moments, last.linear,
                  last.before, rows);
  }

  // A tile in the arrays of all rows. memory: for its TileTerms.
  BROADLOOM_HD static LossTile loss_tile(const LossWork<Loss>& source, const RowsAtHand::Tile& tile,
                                         int side, double* memory) {
    const TilePlaces& places = source.work.places[side];
    float* const arrays = source.work.of_side(side) + tile.row;
    return source.tile(tile, side, arrays + places.outputs, arrays + places.values,
                       arrays + places.size, places.rows, memory);
  }

 private:
  // The last layer's arrays, starting at a row.
  struct Last {
    DeviceNorm norm;
    bool is_normalised;
    float *linear, *hidden, *delta, *before, *moments;

    BROADLOOM_HD Last(const DeviceBody& body, const TilePlaces& places, float* arrays, int row) {
      is_normalised = false;
      linear = hidden = delta = before = moments = nullptr;
      if (body.residual.are_there()) {
        delta = arrays + places.inputs_delta + row * TilePlaces::row(body.head.in);
      }
      if (body.layers == 0) return;
      const int l = body.layers - 1;
      const int begin = row * TilePlaces::row(body.hidden[l].row_out());
      norm = body.norms[l];
      is_normalised = norm.is_there();
      linear = arrays + places.linear[l] + begin;
      hidden = arrays + places.hidden[l] + begin;
      delta = arrays + places.delta[l] + begin;
      before = arrays + places.before[l] + begin;
      moments = arrays + places.moments[l] + 2 * row * norm.parts;
    }
  };
};

// Adds up the per-row terms of LossPhase, one block per tile and side.
template <class Loss>
struct SumsPhase {
  static constexpr int kThreads = 256;
  LossWork<Loss> loss_work;

  static KernelShape shape(const DeviceNetwork& network, int tiles) {
    return {network.sides() * tiles, kThreads, TileTerms::kBytes};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = loss_work.work.network.sides(), t = block.index() / sides;
    const int side = block.index() % sides;
    const RowsAtHand::Tile tile = loss_work.work.rows.tile(t);
    if (tile.count == 0) return;
    double* const own = block.template shared<double>();
    const double* const terms = loss_work.work.terms_of(t, side);
    for (int i = block.thread(); i < static_cast<int>(TileTerms::kCount); i += block.threads()) {
      own[i] = terms[i];
    }
    if (block.thread() == 0) loss_work.sums(t, side) = typename Loss::Sums();
    block.sync();
    loss_work.add(block, LossPhase<Loss>::loss_tile(loss_work, tile, side, own), t, side);
  }
};

}  // namespace broadloom::cuda
