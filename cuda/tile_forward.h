// A tile of rows through an MLP, by all threads of a block together: the bits of linear_forward and
// head_forward (math/linear.h, math/head.h).
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/kernel.h"
#include "cuda/network.h"
#include "cuda/normalise_kernels.h"
#include "cuda/tile_norm.h"

namespace broadloom::cuda {

// Rows of which a thread makes one output at a time: it reads a weight once for all of them, and
// their inputs are one place for the whole warp.
inline constexpr int kRowsAtOnce = 8;

// y[r, o] = finish(b[o] + sum over i of x[r, i] w[i, o]), one chain each, for r < rows.
template <class Block, class Finish>
BROADLOOM_HD void forward_layer(Block& block, const DeviceLayer& layer, Finish&& finish,
                                const float* params, const float* x, float* y, int rows) {
  const int x_row = TilePlaces::row(layer.in), y_row = TilePlaces::row(layer.out);
  const int groups = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  for (int e = block.thread(); e < groups * layer.out; e += block.threads()) {
    const int o = e % layer.out, first = e / layer.out * kRowsAtOnce;
    float sums[kRowsAtOnce];
    for (int k = 0; k < kRowsAtOnce; ++k) sums[k] = params[layer.bias + o];
    for (int i = 0; i < layer.in; ++i) {
      const float weight = params[layer.weight + i * layer.out + o];
      for (int k = 0; k < kRowsAtOnce; ++k) {
        if (first + k >= rows) continue;
        sums[k] = element::mul_add(x[(first + k) * x_row + i], weight, sums[k]);
      }
    }
    for (int k = 0; k < kRowsAtOnce && first + k < rows; ++k) {
      y[(first + k) * y_row + o] = finish(sums[k]);
    }
  }
}

// sum of x[i] w[i] in the host's 16 virtual lanes, of which the upper half is added to the lower
// one, and neighbours pairwise then.
BROADLOOM_HD inline float lane_product(const float* x, const float* w, int in) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  for (int first = 0; first < in; first += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const bool is_there = first + l < in;  // otherwise 0 * 0 is added, too
      lanes[l] = element::mul_add(is_there ? x[first + l] : 0.0f, is_there ? w[first + l] : 0.0f,
                                  lanes[l]);
    }
  }
  float halves[kLanes / 2];
  for (int l = 0; l < kLanes / 2; ++l) halves[l] = lanes[l] + lanes[l + kLanes / 2];
  for (int step = 1; step < kLanes / 2; step *= 2) {
    for (int l = 0; l < kLanes / 2; l += 2 * step) halves[l] += halves[l + step];
  }
  return halves[0];
}

// From the rows at places.x to the layers' outputs and the head's. What is there before must be
// whole (sync()), and what comes out is.
template <class Block>
BROADLOOM_HD void forward_tile(Block& block, const DeviceBody& body, Activation activation,
                               const float* params, const TilePlaces& places, float* work,
                               int rows) {
  const float* x = work + places.x;
  for (int l = 0; l < body.layers; ++l) {
    const DeviceLayer& layer = body.hidden[l];
    const DeviceNorm& norm = body.norms[l];
    float* const linear = work + places.linear[l];
    forward_layer(
        block, layer,
        [&](float sum) { return norm.is_there() ? sum : element::activate(activation, sum); },
        params, x, linear, rows);
    block.sync();
    float* const y = work + places.hidden[l];
    if (norm.is_there()) {
      norm_forward(block, norm, layer.out, activation, params, linear, work + places.moments[l], y,
                   rows);
    }
    x = y;
  }
  const DeviceLayer& head = body.head;
  for (int e = block.thread(); e < rows * head.out; e += block.threads()) {
    const int r = e % rows, o = e / rows;
    work[places.outputs + o * places.rows + r] =
        lane_product(x + r * TilePlaces::row(head.in), params + head.weight + o * head.in,
                     head.in) +
        params[head.bias + o];
  }
  block.sync();
}

// Rows first, first + 1, ... of [.., width] to places.x, as the network sees them.
template <class Block>
BROADLOOM_HD void load_tile(Block& block, const float* rows_of, int width, int rows,
                            const ObservationScale& scale, float* x) {
  for (int e = block.thread(); e < rows * width; e += block.threads()) {
    const int column = e % width;
    x[e / width * TilePlaces::row(width) + column] = scale.of(rows_of[e], column);
  }
}

}  // namespace broadloom::cuda
