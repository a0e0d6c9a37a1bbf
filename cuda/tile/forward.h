// Forward pass of a tile through a body, by all threads of a block together. It has the bits of
// linear_forward, convolve and head_forward (math/linear.h, math/convolution.h, math/head.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/math/element_functions.h"
#include "cuda/env/device_observations.h"
#include "cuda/env/normalise_kernels.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/norm.h"
#include "cuda/tile/params.h"
#include "cuda/tile/product.h"
#include "cuda/tile/residual.h"
#include "cuda/tile/tensor_tile.h"

namespace broadloom::cuda {

// Patches for which a thread computes one output at a time, if numbers are not aligned in fours.
// The thread reads a weight once for all of them, and a warp reads the same inputs.
inline constexpr int kPatchesAtOnce = 8;

// y[p, o] = finish(b[o] + sum over i of x[p, i] w[i, o]), one chain each, for every patch p of the
// rows.
template <class Team>
BROADLOOM_HD void forward_layer_singly(const Team& team, const DeviceLayer& layer,
                                       const Finish& finish, const TileParams& params,
                                       const float* x, float* y, int rows) {
  const Patches& patches = layer.patches;
  const int x_row = TilePlaces::row(layer.row_in), y_row = TilePlaces::row(layer.row_out());
  const int per_row = patches.count(), count = rows * per_row;
  const int groups = (count + kPatchesAtOnce - 1) / kPatchesAtOnce;
  const float* const bias = params.at(layer.bias);
  for (int e = team.thread(); e < groups * layer.out; e += team.threads()) {
    const int o = e % layer.out, first = e / layer.out * kPatchesAtOnce;
    float sums[kPatchesAtOnce];
    int offsets[kPatchesAtOnce];
    for (int k = 0; k < kPatchesAtOnce; ++k) {
      const int p = first + k < count ? first + k : first;
      offsets[k] = p / per_row * x_row + patches.begin(p % per_row);
      sums[k] = bias[o];
    }
    const float* weight = params.at(layer.weight) + o;
    for (int run = 0; run < layer.in / patches.run; ++run) {
      const float* input = x + run * patches.next_run;
      for (int i = 0; i < patches.run; ++i, ++input, weight += layer.out) {
        for (int k = 0; k < kPatchesAtOnce; ++k) {
          sums[k] = element::mul_add(input[offsets[k]], *weight, sums[k]);
        }
      }
    }
    for (int k = 0; k < kPatchesAtOnce && first + k < count; ++k) {
      const int p = first + k;
      y[p / per_row * y_row + p % per_row * layer.out + o] = finish(sums[k]);
    }
  }
}

// Whether a layer's weights at `w` and its inputs are aligned in fours.
BROADLOOM_HD inline bool reads_fours(const DeviceLayer& layer, const float* w) {
  return layer.patches.are_in_fours() && layer.out % 4 == 0 && holds_fours(w);
}

// The same, four patches and four outputs at a time.
template <class Team>
BROADLOOM_HD void forward_layer(const Team& team, const DeviceLayer& layer, const Finish& finish,
                                const TileParams& params, const float* x, float* y, int rows) {
  const float* const w = params.at(layer.weight);
  if (!reads_fours(layer, w)) {
    return forward_layer_singly(team, layer, finish, params, x, y, rows);
  }
  const Patches& patches = layer.patches;
  const int x_row = TilePlaces::row(layer.row_in), y_row = TilePlaces::row(layer.row_out());
  const int per_row = patches.count(), count = rows * per_row;
  const bool is_dense = per_row == 1;
  const float* const bias = params.at(layer.bias);
  over_squares(team, count, layer.out, [&](const auto& square) {
    constexpr int kRows = std::decay_t<decltype(square)>::kRows;
    const float* sources[kRows];
    float sums[kRows][4];
    for (int k = 0; k < kRows; ++k) {
      const int p =
          square.row + k * square.apart < count ? square.row + k * square.apart : square.row;
      sources[k] = x + (is_dense ? p * x_row : p / per_row * x_row + patches.begin(p % per_row));
      for (int c = 0; c < 4; ++c) sums[k][c] = bias[square.column + c];
    }
    for (int run = 0; run < layer.in / patches.run; ++run) {
      add_run(sources, w + run * patches.run * layer.out + square.column, layer.out, patches.run,
              sums);
      for (int k = 0; k < kRows; ++k) sources[k] += patches.next_run;
    }
    finish(sums);
    for (int k = 0; k < kRows && square.row + k * square.apart < count; ++k) {
      const int p = square.row + k * square.apart;
      const int row = is_dense ? p * y_row : p / per_row * y_row + p % per_row * layer.out;
      store_four({{sums[k][0], sums[k][1], sums[k][2], sums[k][3]}}, y + row + square.column);
    }
  });
}

// A stage in shared memory for the weights of a dense layer. A block of kThreads copies kRows rows
// and kColumns columns at a time, while it works on the previous ones.
struct Stage {
  static constexpr int kRows = 64, kColumns = 128, kThreads = 256;
  static constexpr int kFloats = 2 * kRows * kColumns;

  float* room;  // kFloats
  const DeviceLayer& layer;
  const float* w;
  int turn = 0;

  // The weights of the last bring().
  BROADLOOM_HD float* at_hand() const { return room + turn * (kFloats / 2); }
  // Starts to copy the weights from row i and column c on.
  template <class Block>
  BROADLOOM_HD void bring(Block& block, int i, int c) {
    turn ^= 1;
    for (int e = block.thread(); e < kRows * kColumns / 4; e += kThreads) {
      const int row = i + e / (kColumns / 4), column = c + e % (kColumns / 4) * 4;
      const bool is_there = row < layer.in && column < layer.out;
      block.copy_ahead(at_hand() + 4 * e, is_there ? w + row * layer.out + column : w, is_there);
    }
  }
};

// forward_layer() of a dense layer with weights staged through params.stage, by a block of
// Stage::kThreads. A thread computes kRows rows and four columns.
template <int kRows, class Block>
BROADLOOM_HD void forward_staged(Block& block, const DeviceLayer& layer, const Finish& finish,
                                 const TileParams& params, const float* x, float* y, int rows) {
  const int x_row = TilePlaces::row(layer.in), y_row = TilePlaces::row(layer.out);
  const int own = block.thread() / 8 % 8;
  const int own_column = block.thread() / 64 * 32 + block.thread() % 8 * 4;  // among the columns
  const float* const bias = params.at(layer.bias);
  Stage stage{params.stage, layer, params.at(layer.weight)};
  for (int row = own; row - own < rows; row += 8 * kRows) {
    for (int first = 0; first < layer.out; first += Stage::kColumns) {
      const int c = first + own_column;
      const float* sources[kRows];
      float sums[kRows][4];
      for (int k = 0; k < kRows; ++k) {
        sources[k] = x + (row + 8 * k < rows ? row + 8 * k : 0) * x_row;
        for (int j = 0; j < 4; ++j) sums[k][j] = c < layer.out ? bias[c + j] : 0.0f;
      }
      stage.bring(block, 0, first);
      for (int i = 0; i < layer.in; i += Stage::kRows) {
        const float* const w = stage.at_hand() + own_column;
        block.await_copies();
        block.sync();  // after it, no thread works on the previous weights
        if (i + Stage::kRows < layer.in) stage.bring(block, i + Stage::kRows, first);
        const int left = layer.in - i;
        add_run(sources, w, Stage::kColumns, left < Stage::kRows ? left : Stage::kRows, sums);
        for (int k = 0; k < kRows; ++k) sources[k] += Stage::kRows;
      }
      finish(sums);
      for (int k = 0; k < kRows && row + 8 * k < rows && c < layer.out; ++k) {
        store_four({{sums[k][0], sums[k][1], sums[k][2], sums[k][3]}},
                   y + (row + 8 * k) * y_row + c);
      }
    }
  }
}

// Sum of x[i] w[i] in the host's 16 virtual lanes. The upper half is then added to the lower half,
// and neighbours pairwise.
inline constexpr int kHeadLanes = 16;
BROADLOOM_HD inline float lane_product(const float* x, const float* w, int in) {
  float lanes[kHeadLanes] = {};
  int first = 0;
  for (; holds_fours(w) && first + kHeadLanes <= in; first += kHeadLanes) {
    for (int l = 0; l < kHeadLanes; l += 4) {
      const Four of_x = load_four(x + first + l), of_w = load_four(w + first + l);
      for (int j = 0; j < 4; ++j) {
        lanes[l + j] = element::mul_add(of_x.values[j], of_w.values[j], lanes[l + j]);
      }
    }
  }
  for (; first < in; first += kHeadLanes) {
    for (int l = 0; l < kHeadLanes; ++l) {
      const bool is_there = first + l < in;  // otherwise also adds 0 * 0
      lanes[l] = element::mul_add(is_there ? x[first + l] : 0.0f, is_there ? w[first + l] : 0.0f,
                                  lanes[l]);
    }
  }
  float halves[kHeadLanes / 2];
  for (int l = 0; l < kHeadLanes / 2; ++l) halves[l] = lanes[l] + lanes[l + kHeadLanes / 2];
  for (int step = 1; step < kHeadLanes / 2; step *= 2) {
    for (int l = 0; l < kHeadLanes / 2; l += 2 * step) halves[l] += halves[l + step];
  }
  return halves[0];
}

// The same with one thread per lane; each of them receives the sum.
template <class Block>
BROADLOOM_HD float lane_product(Block& block, const float* x, const float* w, int in) {
  float sum = 0.0f;
  const int last = (in + kHeadLanes - 1) / kHeadLanes * kHeadLanes;
  for (int i = block.thread() % kHeadLanes; i < last; i += kHeadLanes) {
    const bool is_there = i < in;
    sum = element::mul_add(is_there ? x[i] : 0.0f, is_there ? w[i] : 0.0f, sum);
  }
  sum += block.shuffle_xor(sum, kHeadLanes / 2);
  for (int mask = 1; mask < kHeadLanes / 2; mask *= 2) sum += block.shuffle_xor(sum, mask);
  return sum;
}

// outputs [out, stride] of rows that have passed a body's layers.
template <class Block>
BROADLOOM_HD void forward_head(Block& block, const DeviceLayer& head, const TileParams& params,
                               const float* x, float* outputs, int stride, int rows) {
  const int all = rows * head.out, row = TilePlaces::row(head.in);
  const auto output = [&](int e, auto&& product) {
    const int r = e % rows, o = e / rows;
    const float sum = product(x + r * row, params.at(head.weight) + o * head.in);
    return sum + *params.at(head.bias + o);
  };
  const auto place = [&](int e) -> float& { return outputs[e / rows * stride + e % rows]; };
  if (all * kHeadLanes >= 4 * block.threads()) {
    for (int e = block.thread(); e < all; e += block.threads()) {
      place(e) = output(
          e, [&](const float* input, const float* w) { return lane_product(input, w, head.in); });
    }
    return;
  }
  // Few outputs: one thread each would leave most threads idle.
  const int at_once = block.threads() / kHeadLanes;
  for (int first = 0; first < all; first += at_once) {
    const int e = first + block.thread() / kHeadLanes;  // all continue, to exchange numbers
    const float sum = output(e < all ? e : 0, [&](const float* input, const float* w) {
      return lane_product(block, input, w, head.in);
    });
    if (e < all && block.thread() % kHeadLanes == 0) place(e) = sum;
  }
}

// Outputs of both heads at their places. Complete when a thread returns (sync()).
template <class Block>
BROADLOOM_HD void forward_heads(Block& block, const DeviceBody& body, const TileParams& params,
                                const TilePlaces& places, float* work, int rows) {
  const float* const x = work + places.top(body);
  forward_head(block, body.head, params, x, work + places.outputs, places.rows, rows);
  forward_head(block, body.value_head, params, x, work + places.values, places.rows, rows);
  block.sync();
}

// From the rows at places.x to the outputs of layers and heads. Inputs must be complete before the
// call (sync()); outputs are complete after it. kMayStage: params may have a stage, and the body
// tensor cores or residual sections.
template <bool kMayStage = false, class Block>
BROADLOOM_HD void forward_tile(Block& block, const DeviceBody& body, Activation activation,
                               const TileParams& params, const TilePlaces& places, float* work,
                               int rows) {
  if constexpr (kMayStage) {
    if (body.is_rounded) {
      forward_tensor_layers(block, body, activation, params, places, work, rows);
      return forward_heads(block, body, params, places, work, rows);
    }
  }
  if constexpr (kMayStage) {
    if (body.residual.are_there()) {
      forward_residual(block, body.residual, activation, params, places, work, rows);
    }
  }
  const float* x = work + places.inputs;
  for (int l = 0; l < body.layers; ++l) {
    const DeviceLayer& layer = body.hidden[l];
    const DeviceNorm& norm = body.norms[l];
    float* const linear = work + places.linear[l];
    const Finish finish{activation, norm.is_there()};
    bool is_staged = false;
    if constexpr (kMayStage) {
      is_staged = params.stage != nullptr && layer.is_dense() &&
                  reads_fours(layer, params.at(layer.weight));
      if (is_staged && rows <= 8) forward_staged<1>(block, layer, finish, params, x, linear, rows);
      if (is_staged && rows > 8) forward_staged<4>(block, layer, finish, params, x, linear, rows);
    }
    if (!is_staged) forward_layer(block, layer, finish, params, x, linear, rows);
    block.sync();
    float* const y = work + places.hidden[l];
    if (norm.is_there()) {
      norm_forward(block, norm, activation, params, linear, work + places.moments[l],
                   linear == y ? nullptr : linear, y, rows);
      block.sync();
    }
    x = y;
  }
  forward_heads(block, body, params, places, work, rows);
}

// Loads `rows` rows of [.., width], starting at `first`, to x as the network sees them. Rows: any
// type that reads number i of a row.
template <class Block, class Rows>
BROADLOOM_HD void load_rows(Block& block, const Rows& rows_of, int first, int width, int rows,
                            const ObservationScale& scale, float* x) {
  over_elements(block, rows, width, [&](int r) {
    const std::size_t row = static_cast<std::size_t>(first) + static_cast<std::size_t>(r);
    float* const target = x + r * TilePlaces::row(width);
    return [&, row, target](int i) { target[i] = scale.apply(rows_of.read(row, i, width), i); };
  });
}

// Gathers rows of a block by their indices into x.
template <class Block, class Rows>
BROADLOOM_HD void gather_rows(Block& block, const Rows& rows_of, const std::int32_t* indices,
                              int width, int rows, float* x) {
  over_elements(block, rows, width, [&](int r) {
    const std::size_t row = static_cast<std::size_t>(indices[r]);
    float* const target = x + r * TilePlaces::row(width);
    return [&, row, target](int i) { target[i] = rows_of.read(row, i, width); };
  });
}

}  // namespace broadloom::cuda
