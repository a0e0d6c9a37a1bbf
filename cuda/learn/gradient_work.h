// Data shared by the kernels of a gradient: the present rows of a minibatch, and arrays that pass
// results from kernel to kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/learn/gradient_cut.h"
#include "cuda/learn/kernel_losses.h"
#include "cuda/tile/forward.h"

namespace broadloom::cuda {

// The rows of one pass: of each partial gradient up to `most` rows, starting at `begin`. `most` is
// a multiple of kTileRows. Rows p * most and on of the arrays belong to own partial gradient p.
struct RowsAtHand {
  int samples,
      partials;    // of the minibatch; partial_gradient_count(): the host's cut, for the same bits
  int first, own;  // the run of partial gradients that are computed here: all, or a rank's
  int begin, most;

  BROADLOOM_HD int all() const { return own * most; }
  // Rows of own partial gradient p in this pass, and the first one's index in the minibatch.
  BROADLOOM_HD int rows_of(int p) const {
    const int left = end_of(p) - first_of(p);
    return left < 0 ? 0 : left < most ? left : most;
  }
  BROADLOOM_HD int first_of(int p) const { return end_of(p - 1) + begin; }
  BROADLOOM_HD bool is_first() const { return begin == 0; }

  // Tiles of kTileRows rows in the arrays. Some are shorter or empty.
  BROADLOOM_HD int tiles() const { return all() / kTileRows; }
  struct Tile {
    int row, in_minibatch, count;  // row in the arrays, and first sample in the minibatch
  };
  BROADLOOM_HD Tile tile(int t) const {
    const int row = t * kTileRows, p = row / most, row_in_partial = row % most;
    const int left = rows_of(p) - row_in_partial;
    return {row, first_of(p) + row_in_partial, left < 0 ? 0 : left < kTileRows ? left : kTileRows};
  }

 private:
  BROADLOOM_HD int end_of(int p) const {
    const int tiles = (samples + kTileRows - 1) / kTileRows;
    const int row = first_tile(first + p + 1, tiles, partials) * kTileRows;
    return row < samples ? row : samples;
  }
};

// Sums: of a loss.
template <class Sums>
struct GradientWork {
  DeviceNetwork network;
  const float* params;
  float* transposed;   // [P] W [out, in] of hidden layers at the offsets of W; or null
  float* arrays;       // [sides, floats]
  std::size_t floats;  // TilePlaces of all rows, then what a loss keeps of them
  float* log_std;      // [groups, outputs] derivatives of a Gaussian's log_std
  Sums* tile_sums;     // [groups, sides]
  double* terms;       // [tiles, sides, TileTerms::kCount]; or null
  float* grads;        // [own partials, P]
  Sums* sums;          // [own partials, sides]
  float* images;       // [groups of group_rows, sides, image_floats()] (TensorDeltaKernel); or null
  int group_rows;      // rows per entry of tile_sums, log_std and images: kTileRows, or a part
  RowsAtHand rows;
  TilePlaces places[2];  // layout of all rows, per side

  BROADLOOM_HD float* of_side(int side) const { return arrays + floats * side; }
  BROADLOOM_HD double* terms_of(int t, int side) const {
    return terms + (static_cast<std::size_t>(t) * network.sides() + side) * TileTerms::kCount;
  }
  BROADLOOM_HD TileParams read() const { return {params, 0, transposed}; }
  // Groups of a partial gradient with `count` rows.
  BROADLOOM_HD int groups_of(int count) const { return (count + group_rows - 1) / group_rows; }
  // Gradient of the layer that reads an image, for the rows of a group: weights and biases, and
  // gain and bias of its norm.
  BROADLOOM_HD static int image_floats(const DeviceBody& body) {
    if (!body.begins_with_image()) return 0;
    return (body.hidden[0].in + 1) * body.hidden[0].out + 2 * body.norms[0].size;
  }
  BROADLOOM_HD float* image_of(int group, int side) const {
    const std::size_t size = static_cast<std::size_t>(image_floats(network.body(0)));
    return images + (static_cast<std::size_t>(group) * network.sides() + side) * size;
  }

  // Floats of a side's arrays for `rows` rows.
  static std::size_t floats_for(const DeviceNetwork& network, int rows) {
    int most = 0;
    for (int side = 0; side < network.sides(); ++side) {
      const int size = TilePlaces(network.body(side), rows, TilePlaces::kForwardAndBack).size;
      most = size > most ? size : most;
    }
    return static_cast<std::size_t>(most) + static_cast<std::size_t>(network.kept_numbers()) * rows;
  }
};

// GradientWork and the inputs of a loss.
template <class Loss>
struct LossWork {
  using Sums = typename Loss::Sums;
  GradientWork<Sums> work;
  DeviceRollout rollout;
  Loss loss;
  const std::int32_t* indices;  // [samples] into the block
  const AdvantageShift* shift;  // of the minibatch; null if the loss needs none

  // A tile as losses see it. memory: for TileTerms.
  BROADLOOM_HD LossTile tile(const RowsAtHand::Tile& rows_tile, int side, float* outputs,
                             float* values, float* kept, int stride, double* memory) const {
    const DeviceNetwork& network = work.network;
    const bool is_shared = network.body(side).has_two_heads(), is_critic = side == 1;
    return {network,
            work.params,
            rollout,
            shift,
            work.rows.samples,
            rows_tile.count,
            stride,
            !is_critic,
            is_shared || is_critic,
            outputs,
            is_shared ? values : outputs,
            kept,
            TileTerms(memory)};
  }
  // Replaces the head outputs of one row by their derivatives.
  BROADLOOM_HD void take_row(const LossTile& tile, const RowsAtHand::Tile& rows_tile, int r) const {
    loss.row({tile, static_cast<std::size_t>(indices[rows_tile.in_minibatch + r]), r});
  }
  // Loss sums of tile t.
  BROADLOOM_HD Sums& sums(int t, int side) const {
    return work.tile_sums[static_cast<std::size_t>(t) * work.network.sides() + side];
  }
  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, int t, int side) const {
    loss.add(block, tile, sums(t, side),
             work.log_std + static_cast<std::size_t>(t) * work.network.outputs);
  }

  // The loss of a tile. Replaces head outputs by their derivatives, and writes loss sums to
  // tile_sums. All threads of a block must call it. Outputs must be complete before it; derivatives
  // are complete after sync().
  template <class Block>
  BROADLOOM_HD void run(Block& block, int t, int side, float* outputs, float* values, float* kept,
                        int stride, double* memory) const {
    const RowsAtHand::Tile rows_tile = work.rows.tile(t);
    const LossTile all = tile(rows_tile, side, outputs, values, kept, stride, memory);
    if (block.thread() == 0) sums(t, side) = Sums();
    if (block.thread() < rows_tile.count) take_row(all, rows_tile, block.thread());
    block.sync();
    add(block, all, t, side);
  }
};

}  // namespace broadloom::cuda
