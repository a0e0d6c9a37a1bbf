// Layers of a tile of rows on tensor cores (sides/tf32.h), by all threads of a block together:
// inputs are rounded to TF32, and an output is a chain over its inputs, eight at a time, from its
// bias on, whichever rows go beside it. So a row that acts and a row that learns have the same
// bits.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/network.h"
#include "cuda/tile/product.h"
#include "cuda/tile/weight_stream.h"

namespace broadloom::cuda {

// Rows that go beside one another in a product.
inline constexpr int kTensorRows = 8;

struct Two {
  float of[2];
};
// From a multiple of 8 bytes on.
BROADLOOM_HD inline Two load_two(const float* from) {
#ifdef __CUDA_ARCH__
  const float2 two = *reinterpret_cast<const float2*>(from);
  return {{two.x, two.y}};
#else
  return {{from[0], from[1]}};
#endif
}

// What a warp multiplies of its weights: 16 numbers by eight rows, kTiles times. Of the eight that
// are added up at a time a thread has two neighbours, in the places of `within` and `within + 4`:
// which is where is the same on both sides.
template <int kTiles>
struct TensorSums {
  float of[kTiles][4];

  // Eight numbers of depth from k on; x: its row of the first tile. all: that are there; what is
  // beyond them is taken for 0.
  template <bool kIsWhole, class Block>
  BROADLOOM_HD void add(Block& block, const TensorA& weights, const float* x, int x_row, int k,
                        int all) {
    for (int n = 0; n < kTiles; ++n) {
      const float* const own = x + n * kTensorRows * x_row + k;
      Two two = {{0.0f, 0.0f}};
      if (kIsWhole || k + 1 < all) {
        two = load_two(own);
      } else if (k < all) {
        two.of[0] = own[0];
      }
      block.multiply_add(weights, rounded(two.of[0], two.of[1]), of[n]);
    }
  }

  // `depth` numbers, at most kMost; weights_at(k): the warp's for eight of them.
  template <int kMost, class Block, class Weights>
  BROADLOOM_HD void add_run(Block& block, const float* x, int x_row, int depth, int within,
                            Weights&& weights_at) {
    if (depth >= kMost) {
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
      for (int k = 0; k < kMost; k += 8) {
        add<true>(block, weights_at(k), x, x_row, k + 2 * within, depth);
      }
      return;
    }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int k = 0; k < depth; k += 8) {
      add<false>(block, weights_at(k), x, x_row, k + 2 * within, depth);
    }
  }
};

// f(row, number, sum) for what a warp has summed up of 16 numbers from `first` on, of which there
// are `all`.
template <int kTiles, class F>
BROADLOOM_HD void each_sum(const TensorLane& lane, const TensorSums<kTiles>& sums, int first,
                           int all, F&& f) {
  for (int n = 0; n < kTiles; ++n) {
    for (int c = 0; c < 4; ++c) {
      const int number = first + lane.group + c / 2 * 8;
      const int row = n * kTensorRows + 2 * lane.within + c % 2;
      if (number < all) f(row, number, sums.of[n][c]);
    }
  }
}

// y = finish(x w + b) of kTiles tiles of rows, whose layer's weights are on their way (kForward).
// What rows hold that are none is of no consequence to others. What comes out is not whole before
// the next sync().
template <int kTiles, class Block>
BROADLOOM_HD void tensor_forward(Block& block, WeightStream& stream, const DeviceLayer& layer,
                                 const Finish& finish, const float* bias, const float* x,
                                 float* y) {
  const TensorLane lane(block.thread());
  const int x_row = TilePlaces::row(layer.in), y_row = TilePlaces::row(layer.out);
  const int own = 16 * lane.warp;  // of a piece's outputs
  TensorSums<kTiles> sums;
  for (int q = 0; q < stream.pieces(); ++q) {
    const WeightStream::Piece piece = stream.next(block);
    const int first = piece.output + own;
    if (first >= layer.out) continue;
    if (piece.begins) {
      for (int n = 0; n < kTiles; ++n) {
        for (int c = 0; c < 4; ++c) {
          const int o = first + lane.group + c / 2 * 8;
          sums.of[n][c] = o < layer.out ? bias[o] : 0.0f;
        }
      }
    }
    const float* const w = piece.w + 2 * lane.within * WeightStream::kRow + own + lane.group;
    sums.template add_run<WeightStream::kInputs>(
        block, x + lane.group * x_row + piece.input, x_row, layer.in - piece.input, lane.within,
        [&](int k) {
          const float* const at = w + k * WeightStream::kRow;
          return rounded(at[0], at[8], at[WeightStream::kRow], at[WeightStream::kRow + 8]);
        });
    if (!piece.ends) continue;
    each_sum(lane, sums, first, layer.out,
             [&](int r, int o, float sum) { y[r * y_row + o] = finish(sum); });
  }
}

// From delta [rows, out] to that of the layer below, which takes the place of what that layer gave,
// y [rows, in]; the weights are on their way (kBack).
template <int kTiles, class Block>
BROADLOOM_HD void tensor_backward(Block& block, WeightStream& stream, const DeviceLayer& layer,
                                  Activation activation, const float* delta, float* y) {
  constexpr int kParts = WeightStream::kInputs / 16;          // warps of a tile
  constexpr int kOwn = kTiles > 1 ? kTiles * kParts / 8 : 1;  // tiles of a warp
  const TensorLane lane(block.thread());
  const int d_row = TilePlaces::row(layer.out), y_row = TilePlaces::row(layer.in);
  const int own = lane.warp % kParts * 16, first_row = lane.warp / kParts * kOwn * kTensorRows;
  TensorSums<kOwn> sums;
  for (int q = 0; q < stream.pieces(); ++q) {
    const WeightStream::Piece piece = stream.next(block);
    const int first = piece.input + own;
    if (first >= layer.in || first_row >= kTiles * kTensorRows) continue;
    if (piece.begins) {
      for (int n = 0; n < kOwn; ++n) {
        for (int c = 0; c < 4; ++c) sums.of[n][c] = 0.0f;
      }
    }
    const float* const w = piece.w + (own + lane.group) * WeightStream::kRow + 2 * lane.within;
    sums.template add_run<WeightStream::kOutputs>(
        block, delta + (first_row + lane.group) * d_row + piece.output, d_row,
        layer.out - piece.output, lane.within, [&](int k) {
          const Two upper = load_two(w + k), lower = load_two(w + 8 * WeightStream::kRow + k);
          return rounded(upper.of[0], lower.of[0], upper.of[1], lower.of[1]);
        });
    if (!piece.ends) continue;
    float* const below = y + first_row * y_row;
    each_sum(lane, sums, first, layer.in, [&](int r, int i, float sum) {
      float& place = below[r * y_row + i];
      place = element::activate_backward(activation, place, sum);
    });
  }
}

}  // namespace broadloom::cuda
