// Dense layers of a tile of rows on tensor cores, by all threads of a block together.
//
// Factors must be rounded to TF32 before (sides/tf32.h), and weights are packed for the cores
// (packed_weights.h). Each warp reads its own weights, which no other warp needs.
//
// An output is kChains chains over its inputs, eight at a time. Neither the other rows nor the
// number of threads changes that. So a row has the same bits in acting and in learning.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/network.h"
#include "cuda/tile/packed_weights.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

// Rows of one product.
inline constexpr int kTensorRows = 8;

struct Two {
  float values[2];
};
// Loads two numbers, aligned to 8 bytes.
BROADLOOM_HD inline Two load_two(const float* source) {
#ifdef __CUDA_ARCH__
  const float2 two = *reinterpret_cast<const float2*>(source);
  return {{two.x, two.y}};
#else
  return {{source[0], source[1]}};
#endif
}

// A warp's sums: 16 numbers for kTiles times eight rows.
template <int kTiles>
struct TensorSums {
  float values[kTiles][4];

  // Steps of weights that are read ahead.
  static constexpr int kAhead = 8;
  struct Weights {
    TensorA values[kAhead];
    BROADLOOM_HD void read(const float* packed, int steps) {
      for (int k = 0; k < kAhead; ++k) {
        const Four four = k < steps ? load_four(packed + k * PackedMatrix::kPiece) : Four{};
        values[k] = {{four.values[0], four.values[1], four.values[2], four.values[3]}};
      }
    }
  };

  // Adds eight numbers of the depth. x: this thread's two neighbours in its row of the first tile.
  template <class Block>
  BROADLOOM_HD void add(Block& block, const TensorA& weights, const float* x, int x_row) {
    for (int n = 0; n < kTiles; ++n) {
      const Two two = load_two(x + n * kTensorRows * x_row);
      block.multiply_add(weights, {{two.values[0], two.values[1]}}, values[n]);
    }
  }
  // The same with only `left` numbers left for this thread.
  template <class Block>
  BROADLOOM_HD void add_last(Block& block, const TensorA& weights, const float* x, int x_row,
                             int left) {
    for (int n = 0; n < kTiles; ++n) {
      const float* const source = x + n * kTensorRows * x_row;
      block.multiply_add(weights, {{left > 0 ? source[0] : 0.0f, left > 1 ? source[1] : 0.0f}},
                         values[n]);
    }
  }

  // Adds steps [begin, end) of a depth. packed: this thread's weights of step 0.
  template <class Block>
  BROADLOOM_HD void add_run(Block& block, const float* packed, const float* x, int x_row, int begin,
                            int end, int depth, int thread_in_group) {
    packed += begin * PackedMatrix::kPiece;
    x += 8 * begin + 2 * thread_in_group;
    const int whole = depth / 8 < end ? depth / 8 : end;
    Weights now, next;
    now.read(packed, end - begin);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int s = begin; s < end; s += kAhead) {
      packed += kAhead * PackedMatrix::kPiece;
      next.read(packed, end - s - kAhead);
      if (s + kAhead <= whole) {
        for (int k = 0; k < kAhead; ++k) add(block, now.values[k], x + 8 * k, x_row);
      } else {
        for (int k = 0; k < kAhead; ++k) {
          if (s + k >= end) continue;
          add_last(block, now.values[k], x + 8 * k, x_row,
                   depth - 8 * (s + k) - 2 * thread_in_group);
        }
      }
      x += 8 * kAhead;
      now = next;
    }
  }
};

// Scratch in which two warps of a block join their chains: [kTensorScratch] for kTiles tiles.
inline constexpr int kTensorPairs = 8;
template <int kTiles>
inline constexpr int kTensorScratch = kTensorPairs* kTiles * 4 * kWarp;

// Calls f(sum, row, number) for a warp's sums of numbers from 16 tile on.
template <int kTiles, class F>
BROADLOOM_HD void each_sum(const TensorLane& lane, int tile, TensorSums<kTiles>& sums, F&& f) {
  for (int n = 0; n < kTiles; ++n) {
    for (int c = 0; c < 4; ++c) {
      f(sums.values[n][c], n * kTensorRows + 2 * lane.within + c % 2,
        tile * 16 + lane.group + c / 2 * 8);
    }
  }
}

// x [rows, depth] times packed weights [wide, depth], for kTiles tiles of rows. begun(n): initial
// value of number n. take(tile, sums): receives a warp's sums of numbers from 16 tile on
// (each_sum()).
//
// kChains: 1 or 2. Two warps share two chains if the block has enough warps; then `scratch` is
// needed, and all threads wait for one another.
template <int kTiles, int kChains, class Block, class Begun, class Take>
BROADLOOM_HD void tensor_product(Block& block, const PackedMatrix& matrix, const float* packed,
                                 const float* x, int x_row, float* scratch, Begun&& begun,
                                 Take&& take) {
  const TensorLane lane(block.thread());
  const int warps = block.threads() / kWarp, tiles = (matrix.wide + 15) / 16,
            steps = matrix.steps();
  const float* const rows = x + lane.group * x_row;
  const auto chain_of = [&](int tile, int chain) {
    TensorSums<kTiles> sums;
    each_sum(lane, tile, sums, [&](float& sum, int, int number) {
      sum = chain == 0 && number < matrix.wide ? begun(number) : 0.0f;
    });
    const float* const own =
        packed + tile * steps * PackedMatrix::kPiece + block.thread() % kWarp * 4;
    sums.add_run(block, own, rows, x_row, chain * steps / kChains, (chain + 1) * steps / kChains,
                 matrix.depth, lane.within);
    return sums;
  };
  if (kChains == 2 && scratch != nullptr && warps == 2 * kTensorPairs && tiles <= kTensorPairs) {
    const int tile = lane.warp % kTensorPairs, chain = lane.warp / kTensorPairs;
    const bool is_there = tile < tiles;
    float* const place = scratch + tile * kTiles * 4 * kWarp + block.thread() % kWarp;
    TensorSums<kTiles> sums;
    if (is_there) sums = chain_of(tile, chain);
    if (is_there && chain == 1) {
      for (int e = 0; e < 4 * kTiles; ++e) place[e * kWarp] = sums.values[e / 4][e % 4];
    }
    block.sync();
    if (!is_there || chain == 1) return;
    for (int e = 0; e < 4 * kTiles; ++e) sums.values[e / 4][e % 4] += place[e * kWarp];
    return take(tile, sums);
  }
  for (int tile = lane.warp; tile < tiles; tile += warps) {
    TensorSums<kTiles> sums = chain_of(tile, 0);
    if constexpr (kChains == 2) {
      const TensorSums<kTiles> other = chain_of(tile, 1);
      for (int e = 0; e < 4 * kTiles; ++e) sums.values[e / 4][e % 4] += other.values[e / 4][e % 4];
    }
    take(tile, sums);
  }
}

// y = finish(x w + b) for kTiles tiles of rows. params: base of the offsets of weights and biases.
// Rows without data do not affect others. The output is complete after the next sync().
template <int kTiles, class Block>
BROADLOOM_HD void tensor_forward(Block& block, const DeviceLayer& layer, const Finish& finish,
                                 const float* params, const float* x, float* y, float* scratch) {
  const int y_row = TilePlaces::row(layer.out);
  const float* const bias = params + layer.bias;
  tensor_product<kTiles, 2>(
      block, {layer.out, layer.in}, params + layer.packed, x, TilePlaces::row(layer.in), scratch,
      [&](int o) { return bias[o]; },
      [&](int tile, TensorSums<kTiles>& sums) {
        finish(sums.values);
        each_sum(TensorLane(block.thread()), tile, sums, [&](float sum, int r, int o) {
          if (o < layer.out) y[r * y_row + o] = sum;
        });
      });
}

// From delta [rows, out] to the delta of the layer below, which overwrites that layer's output y
// [rows, in].
template <int kTiles, class Block>
BROADLOOM_HD void tensor_backward(Block& block, const DeviceLayer& layer, Activation activation,
                                  const float* params, const float* delta, float* y) {
  const int y_row = TilePlaces::row(layer.in);
  tensor_product<kTiles, 1>(
      block, {layer.in, layer.out}, params + layer.packed_back, delta, TilePlaces::row(layer.out),
      nullptr, [](int) { return 0.0f; },
      [&](int tile, TensorSums<kTiles>& sums) {
        with_known(activation, [&](auto known) {
          constexpr Activation kKnown = decltype(known)::value;
          each_sum(TensorLane(block.thread()), tile, sums, [&](float sum, int r, int i) {
            if (i >= layer.in) return;
            float& place = y[r * y_row + i];
            place = element::activate_backward(kKnown, place, sum);
          });
        });
      });
}

}  // namespace broadloom::cuda
