// A tile of rows through a body, by all threads of a block together: the bits of linear_forward,
// convolve and head_forward (math/linear.h, math/convolution.h, math/head.h).
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/device_observations.h"
#include "cuda/kernel.h"
#include "cuda/network.h"
#include "cuda/normalise_kernels.h"
#include "cuda/tile_norm.h"

namespace broadloom::cuda {

// Patches of which a thread makes one output at a time: it reads a weight once for all of them, and
// their inputs are one place for the whole warp.
inline constexpr int kPatchesAtOnce = 8;

// y[p, o] = finish(b[o] + sum over i of x[p, i] w[i, o]), one chain each, for every patch p of the
// rows.
template <class Block, class Finish>
BROADLOOM_HD void forward_layer(Block& block, const DeviceLayer& layer, Finish&& finish,
                                const float* params, const float* x, float* y, int rows) {
  const Patches& patches = layer.patches;
  const int x_row = TilePlaces::row(layer.row_in), y_row = TilePlaces::row(layer.row_out());
  const int per_row = patches.count(), count = rows * per_row;
  const int groups = (count + kPatchesAtOnce - 1) / kPatchesAtOnce;
  for (int e = block.thread(); e < groups * layer.out; e += block.threads()) {
    const int o = e % layer.out, first = e / layer.out * kPatchesAtOnce;
    float sums[kPatchesAtOnce];
    int from[kPatchesAtOnce];
    for (int k = 0; k < kPatchesAtOnce; ++k) {
      const int p = first + k < count ? first + k : first;
      from[k] = p / per_row * x_row + patches.begin(p % per_row);
      sums[k] = params[layer.bias + o];
    }
    const float* weight = params + layer.weight + o;
    for (int run = 0; run < layer.in / patches.run; ++run) {
      const float* at = x + run * patches.next_run;
      for (int i = 0; i < patches.run; ++i, ++at, weight += layer.out) {
        for (int k = 0; k < kPatchesAtOnce; ++k) {
          sums[k] = element::mul_add(at[from[k]], *weight, sums[k]);
        }
      }
    }
    for (int k = 0; k < kPatchesAtOnce && first + k < count; ++k) {
      const int p = first + k;
      y[p / per_row * y_row + p % per_row * layer.out + o] = finish(sums[k]);
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

// outputs [out, stride] of rows that have come through a body's layers.
template <class Block>
BROADLOOM_HD void forward_head(Block& block, const DeviceLayer& head, const float* params,
                               const float* x, float* outputs, int stride, int rows) {
  for (int e = block.thread(); e < rows * head.out; e += block.threads()) {
    const int r = e % rows, o = e / rows;
    outputs[o * stride + r] = lane_product(x + r * TilePlaces::row(head.in),
                                           params + head.weight + o * head.in, head.in) +
                              params[head.bias + o];
  }
}

// From the rows at places.x to the layers' outputs and the heads'. What is there before must be
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
      norm_forward(block, norm, activation, params, linear, work + places.moments[l], y, rows);
    }
    x = y;
  }
  forward_head(block, body.head, params, x, work + places.outputs, places.rows, rows);
  forward_head(block, body.value_head, params, x, work + places.values, places.rows, rows);
  block.sync();
}

// So many rows of [.., width] to places.x, as the network sees them.
template <class Block>
BROADLOOM_HD void load_tile(Block& block, const DeviceObservations& rows_of, int width, int rows,
                            const ObservationScale& scale, float* x) {
  for (int e = block.thread(); e < rows * width; e += block.threads()) {
    const int column = e % width;
    x[e / width * TilePlaces::row(width) + column] = scale.of(rows_of.read(e), column);
  }
}

}  // namespace broadloom::cuda
