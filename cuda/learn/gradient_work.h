// What the kernels of a gradient share: which rows of a minibatch are at hand, and the arrays in
// the device's memory by which they hand on what they made of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/learn/gradient_cut.h"
#include "cuda/learn/kernel_losses.h"
#include "cuda/tile/forward.h"

namespace broadloom::cuda {

// Of each partial gradient up to `most` rows, a multiple of kTileRows, from `begin` on. Rows
// p * most and on of the arrays are those of partial gradient p.
struct RowsAtHand {
  int samples,
      partials;  // of the minibatch; partial_gradient_count(): the host's cut, and its bits
  int begin, most;

  BROADLOOM_HD int all() const { return partials * most; }
  // Those that there are of partial gradient p, and the first one's place in the minibatch.
  BROADLOOM_HD int of(int p) const {
    const int left = end_of(p) - first_of(p);
    return left < 0 ? 0 : left < most ? left : most;
  }
  BROADLOOM_HD int first_of(int p) const { return end_of(p - 1) + begin; }
  BROADLOOM_HD bool is_first() const { return begin == 0; }

  // Tiles of kTileRows of the arrays, of which some have fewer rows, or none.
  BROADLOOM_HD int tiles() const { return all() / kTileRows; }
  struct Tile {
    int row, in_minibatch, count;  // in the arrays, and in the minibatch
  };
  BROADLOOM_HD Tile tile(int t) const {
    const int row = t * kTileRows, p = row / most, within = row % most;
    const int left = of(p) - within;
    return {row, first_of(p) + within, left < 0 ? 0 : left < kTileRows ? left : kTileRows};
  }

 private:
  BROADLOOM_HD int end_of(int p) const {
    const int tiles = (samples + kTileRows - 1) / kTileRows;
    const int row = first_tile(p + 1, tiles, partials) * kTileRows;
    return row < samples ? row : samples;
  }
};

// Sums: of a loss.
template <class Sums>
struct GradientWork {
  DeviceNetwork network;
  const float* params;
  float* transposed;   // [P] W [out, in] of hidden layers, each where its W is; or null
  float* arrays;       // [sides, floats]
  std::size_t floats;  // TilePlaces of all rows, and shares [outputs, rows] behind it
  float* log_std;      // [groups, outputs] derivatives of a Gaussian policy's
  Sums* tile_sums;     // [groups, sides]
  double* terms;       // [tiles, sides, TileTerms::kCount]; or null
  float* grads;        // [partials, P]
  Sums* sums;          // [partials, sides]
  float* images;       // [groups of group_rows, sides, image_floats()] (TensorDeltaKernel); or null
  int group_rows;      // that an entry of tile_sums, log_std and images is of: kTileRows, or a part
  RowsAtHand rows;
  TilePlaces at[2];  // of each side, of all rows

  BROADLOOM_HD float* of_side(int side) const { return arrays + floats * side; }
  BROADLOOM_HD double* terms_of(int t, int side) const {
    return terms + (static_cast<std::size_t>(t) * network.sides() + side) * TileTerms::kCount;
  }
  BROADLOOM_HD TileParams read() const { return {params, 0, transposed}; }
  // Groups of rows of a partial gradient that has so many.
  BROADLOOM_HD int groups_of(int count) const { return (count + group_rows - 1) / group_rows; }
  // What is learnt of the layer that reads an image, by rows of a group: weights and biases, and
  // gain and bias of what normalises it.
  BROADLOOM_HD static int image_floats(const DeviceBody& body) {
    if (!body.begins_with_image()) return 0;
    return (body.hidden[0].in + 1) * body.hidden[0].out + 2 * body.norms[0].size;
  }
  BROADLOOM_HD float* image_of(int group, int side) const {
    const std::size_t size = static_cast<std::size_t>(image_floats(network.body(0)));
    return images + (static_cast<std::size_t>(group) * network.sides() + side) * size;
  }

  // Floats of a side's arrays for so many rows.
  static std::size_t floats_for(const DeviceNetwork& network, int rows) {
    int most = 0;
    for (int side = 0; side < network.sides(); ++side) {
      const int size = TilePlaces(network.body(side), rows, TilePlaces::kForwardAndBack).size;
      most = size > most ? size : most;
    }
    return static_cast<std::size_t>(most) + static_cast<std::size_t>(network.outputs) * rows;
  }
};

// What a loss is told beside that.
template <class Loss>
struct LossWork {
  using Sums = typename Loss::Sums;
  GradientWork<Sums> work;
  DeviceRollout rollout;
  Loss loss;
  const std::int32_t* indices;  // [samples] into the block
  const AdvantageShift* shift;  // of the minibatch; null where the loss asks for none

  // A tile as losses see it. memory: of TileTerms.
  BROADLOOM_HD LossTile tile(const RowsAtHand::Tile& of, int side, float* outputs, float* values,
                             float* shares, int stride, double* memory) const {
    const DeviceNetwork& network = work.network;
    const bool is_shared = network.body(side).has_two_heads(), is_critic = side == 1;
    return {network,
            work.params,
            rollout,
            shift,
            work.rows.samples,
            of.count,
            stride,
            !is_critic,
            is_shared || is_critic,
            outputs,
            is_shared ? values : outputs,
            shares,
            TileTerms(memory)};
  }
  // One row of it, from outputs of the heads to their derivatives in the same places.
  BROADLOOM_HD void take_row(const LossTile& tile, const RowsAtHand::Tile& of, int r) const {
    loss.row({tile, static_cast<std::size_t>(indices[of.in_minibatch + r]), r});
  }
  // What is said of the samples of tile t, which begins with none.
  BROADLOOM_HD Sums& sums(int t, int side) const {
    return work.tile_sums[static_cast<std::size_t>(t) * work.network.sides() + side];
  }
  template <class Block>
  BROADLOOM_HD void add(Block& block, const LossTile& tile, int t, int side) const {
    loss.add(block, tile, sums(t, side),
             work.log_std + static_cast<std::size_t>(t) * work.network.outputs);
  }

  // The loss of a tile, from outputs of the heads to their derivatives in the same places: what is
  // said of its samples to tile_sums. By all threads of a block; values and outputs are whole
  // before, and derivatives after it (sync()).
  template <class Block>
  BROADLOOM_HD void run(Block& block, int t, int side, float* outputs, float* values, float* shares,
                        int stride, double* memory) const {
    const RowsAtHand::Tile of = work.rows.tile(t);
    const LossTile all = tile(of, side, outputs, values, shares, stride, memory);
    if (block.thread() == 0) sums(t, side) = Sums();
    if (block.thread() < of.count) take_row(all, of, block.thread());
    block.sync();
    add(block, all, t, side);
  }
};

}  // namespace broadloom::cuda
