// The derivatives of a tile that forward_tile has gone through, by all threads of a block together:
// the bits of ActorCritic::backward.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/kernel.h"
#include "cuda/network.h"
#include "cuda/tile_forward.h"

namespace broadloom::cuda {

// Adds to dw and db of a layer; each is one chain over the rows and their patches, which goes on
// from tile to tile. x [rows, row_in], delta [rows, row_out].
template <class Block>
BROADLOOM_HD void backward_weights(Block& block, const DeviceLayer& layer, const float* x,
                                   const float* delta, int rows, float* grads) {
  const Patches& patches = layer.patches;
  const int x_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
  for (int e = block.thread(); e < (layer.in + 1) * layer.out; e += block.threads()) {
    const int o = e % layer.out, i = e / layer.out;
    const bool is_weight = i < layer.in;
    const float* const from = x + (is_weight ? patches.at(i) : 0);
    float* const to = grads + (is_weight ? layer.weight + i * layer.out : layer.bias) + o;
    float sum = *to;
    for (int r = 0; r < rows; ++r) {
      const float* d = delta + r * d_row + o;
      for (int row = 0; row < patches.down; ++row) {
        const float* of = from + r * x_row + row * patches.next_down;
        for (int k = 0; k < patches.across; ++k, d += layer.out, of += patches.next_across) {
          sum = is_weight ? element::mul_add(*of, *d, sum) : sum + *d;
        }
      }
    }
    *to = sum;
  }
}

// Likewise of a head. delta [out, places.rows].
template <class Block>
BROADLOOM_HD void backward_head_weights(Block& block, const DeviceLayer& head, const float* x,
                                        const float* delta, int stride, int rows, float* grads) {
  const int x_row = TilePlaces::row(head.row_in);
  for (int e = block.thread(); e < head.out * (head.in + 1); e += block.threads()) {
    const int i = e % (head.in + 1), o = e / (head.in + 1);
    float* const to = i < head.in ? grads + head.weight + o * head.in + i : grads + head.bias + o;
    float sum = *to;
    for (int r = 0; r < rows; ++r) {
      const float d = delta[o * stride + r];
      sum = i < head.in ? element::mul_add(d, x[r * x_row + i], sum) : sum + d;
    }
    *to = sum;
  }
}

// In place of y [rows, in], what the layer below gave, the derivative before its activation:
// activation'(y) times sum_of(r, i), what comes down from above.
template <class Block, class Sum>
BROADLOOM_HD void backward_input(Block& block, Activation activation, int in, int rows, float* y,
                                 Sum&& sum_of) {
  const int y_row = TilePlaces::row(in);
  for (int e = block.thread(); e < rows * in; e += block.threads()) {
    const int i = e % in, r = e / in;
    float& place = y[r * y_row + i];
    place = element::activate_backward(activation, place, sum_of(r, i));
  }
}

// sum over o of delta[o] w[o], one chain.
BROADLOOM_HD inline float chain_over(int out, const float* delta, int next_delta, const float* w,
                                     int next_w) {
  float sum = 0.0f;
  for (int o = 0; o < out; ++o) sum = element::mul_add(delta[o * next_delta], w[o * next_w], sum);
  return sum;
}

// From the heads' deltas to that of the last layer. Two heads' chains are added up.
template <class Block>
BROADLOOM_HD void backward_heads(Block& block, const DeviceBody& body, Activation activation,
                                 const float* params, const TilePlaces& places, float* work,
                                 int rows) {
  const auto chain = [&](const DeviceLayer& head, int outputs, int r, int i) {
    return chain_over(head.out, work + outputs + r, places.rows, params + head.weight + i, head.in);
  };
  backward_input(block, activation, body.head.in, rows, work + places.top(body), [&](int r, int i) {
    const float of_head = chain(body.head, places.outputs, r, i);
    if (!body.has_two_heads()) return of_head;
    return chain(body.value_head, places.values, r, i) + of_head;
  });
}

// From the outputs' derivatives at places.outputs, and of values at places.values. Adds to grads
// [P]; layers' outputs become their deltas, one after another, when nobody asks for them any more:
// so a tile takes no more room than its forward pass. All of it is done when a thread comes back
// (sync()).
template <class Block>
BROADLOOM_HD void backward_tile(Block& block, const DeviceBody& body, Activation activation,
                                const float* params, const TilePlaces& places, float* work,
                                int rows, float* grads) {
  const float* const top = work + places.top(body);
  backward_head_weights(block, body.head, top, work + places.outputs, places.rows, rows, grads);
  backward_head_weights(block, body.value_head, top, work + places.values, places.rows, rows,
                        grads);
  block.sync();
  if (body.layers == 0) return;
  backward_heads(block, body, activation, params, places, work, rows);
  block.sync();
  for (int l = body.layers - 1; l >= 0; --l) {
    const DeviceLayer& layer = body.hidden[l];
    float* const below = work + (l > 0 ? places.hidden[l - 1] : places.x);
    const float* delta = work + places.hidden[l];
    if (body.norms[l].is_there()) {
      float* const linear = work + places.linear[l];
      norm_backward(block, body.norms[l], params, delta, work + places.moments[l], linear, rows,
                    grads);
      delta = linear;
    }
    backward_weights(block, layer, below, delta, rows, grads);
    block.sync();
    if (l == 0) return;
    const int delta_row = TilePlaces::row(layer.row_out());
    backward_input(block, activation, layer.in, rows, below, [&](int r, int i) {
      return chain_over(layer.out, delta + r * delta_row, 1, params + layer.weight + i * layer.out,
                        1);
    });
    block.sync();
  }
}

}  // namespace broadloom::cuda
