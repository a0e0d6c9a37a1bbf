// Backward pass of a tile after forward_tile(), by all threads of a block together. It has the bits
// of ActorCritic::backward.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/convolution_back.h"
#include "cuda/tile/forward.h"
#include "cuda/tile/network.h"

namespace broadloom::cuda {

// Derivatives of the heads' outputs: [outputs, stride] each.
struct HeadDeltas {
  const float *outputs, *values;
  int stride;
};

// Derivative before the activation of y [rows, in], the output of the layer below: delta =
// activation'(y) * sum_of(r, i).
template <class Team, class Sum>
BROADLOOM_HD void backward_input(const Team& team, Activation activation, int in, int rows,
                                 const float* y, float* delta, Sum&& sum_of) {
  const int row = TilePlaces::row(in);
  over_elements(team, rows, in, [&](int r) {
    return [&, r](int i) {
      const int place = r * row + i;
      delta[place] = element::activate_backward(activation, y[place], sum_of(r, i));
    };
  });
}

// Sum over o of delta[o] w[o], one chain.
BROADLOOM_HD inline float chain_over(int out, const float* delta, int next_delta, const float* w,
                                     int next_w) {
  float sum = 0.0f;
  for (int o = 0; o < out; ++o) sum = element::mul_add(delta[o * next_delta], w[o * next_w], sum);
  return sum;
}

// From a layer's delta [rows, row_out] to that of the layer below with output y [rows, row_in].
template <class Team>
BROADLOOM_HD void backward_layer(const Team& team, const DeviceLayer& layer, Activation activation,
                                 const TileParams& params, const float* y, const float* delta,
                                 int rows, float* below) {
  if (!layer.is_dense()) {
    return backward_convolution(team, layer, activation, params, y, delta, rows, below);
  }
  const int y_row = TilePlaces::row(layer.in), d_row = TilePlaces::row(layer.out);
  const bool turned = params.transposed != nullptr && (layer.in | layer.out) % 4 == 0 &&
                      holds_fours(params.transposed_at(layer.weight));
  if (!turned) {
    const float* const w = params.at(layer.weight);
    return backward_input(team, activation, layer.in, rows, y, below, [&](int r, int i) {
      return chain_over(layer.out, delta + r * d_row, 1, w + i * layer.out, 1);
    });
  }
  const float* const w = params.transposed_at(layer.weight);
  over_squares(team, rows, layer.in, [&](const auto& square) {
    constexpr int kRows = std::decay_t<decltype(square)>::kRows;
    const float* sources[kRows];
    float sums[kRows][4] = {};
    for (int k = 0; k < kRows; ++k) {
      sources[k] = delta + (square.row + k * square.apart < rows ? square.row + k * square.apart
                                                                 : square.row) *
                               d_row;
    }
    add_run(sources, w + square.column, layer.in, layer.out, sums);
    for (int k = 0; k < kRows && square.row + k * square.apart < rows; ++k) {
      const int first = (square.row + k * square.apart) * y_row + square.column;
      const Four made = derivatives(activation, load_four(y + first), sums[k]);
      store_four(made, below + first);
    }
  });
}

// From the heads' deltas to that of the last layer with output y. The chains of two heads are
// added.
template <class Team>
BROADLOOM_HD void backward_heads(const Team& team, const DeviceBody& body, Activation activation,
                                 const TileParams& params, const HeadDeltas& heads, const float* y,
                                 int rows, float* delta) {
  const auto chain = [&](const DeviceLayer& head, const float* outputs, int r, int i) {
    return chain_over(head.out, outputs + r, heads.stride, params.at(head.weight) + i, head.in);
  };
  backward_input(team, activation, body.head.in, rows, y, delta, [&](int r, int i) {
    const float of_head = chain(body.head, heads.outputs, r, i);
    if (!body.has_two_heads()) return of_head;
    return chain(body.value_head, heads.values, r, i) + of_head;
  });
}

// From the heads' deltas to those of all layers, at their places in the tile. Complete when a
// thread returns (sync()).
template <class Block>
BROADLOOM_HD void backward_tile(Block& block, const DeviceBody& body, Activation activation,
                                const TileParams& params, const TilePlaces& places,
                                const HeadDeltas& heads, float* work, int rows) {
  if (body.layers > 0) {
    const int last = body.layers - 1;
    backward_heads(block, body, activation, params, heads, work + places.hidden[last], rows,
                   work + places.delta[last]);
  }
  block.sync();
  for (int l = body.layers - 1; l >= 0; --l) {
    const float* delta = work + places.delta[l];
    if (body.norms[l].is_there()) {
      norm_backward(block, body.norms[l], params, delta, work + places.moments[l],
                    work + places.linear[l], work + places.before[l], rows);
      block.sync();
      delta = work + places.before[l];
    }
    if (l == 0) return;
    backward_layer(block, body.hidden[l], activation, params, work + places.hidden[l - 1], delta,
                   rows, work + places.delta[l - 1]);
    block.sync();
  }
}

}  // namespace broadloom::cuda
