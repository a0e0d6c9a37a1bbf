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
// activation'(y) times sum over o of delta[o] w[o]. The places of delta and w follow from strides.
template <class Block>
BROADLOOM_HD void backward_input(Block& block, Activation activation, int in, int out,
                                 const float* delta, int delta_row, int delta_output,
                                 const float* w, int w_input, int w_output, int rows, float* y) {
  const int y_row = TilePlaces::row(in);
  for (int e = block.thread(); e < rows * in; e += block.threads()) {
    const int i = e % in, r = e / in;
    float sum = 0.0f;
    for (int o = 0; o < out; ++o) {
      sum = element::mul_add(delta[r * delta_row + o * delta_output], w[i * w_input + o * w_output],
                             sum);
    }
    float& place = y[r * y_row + i];
    place = element::activate_backward(activation, place, sum);
  }
}

// From the outputs' derivatives at places.outputs. Adds to grads [P]; layers' outputs become their
// deltas, one after another, when nobody asks for them any more: so a tile takes no more room than
// its forward pass. All of it is done when a thread comes back (sync()).
template <class Block>
BROADLOOM_HD void backward_tile(Block& block, const DeviceBody& body, Activation activation,
                                const float* params, const TilePlaces& places, float* work,
                                int rows, float* grads) {
  const DeviceLayer& head = body.head;
  float* const outputs = work + places.outputs;
  backward_head_weights(block, head, work + places.top(body), outputs, places.rows, rows, grads);
  block.sync();
  if (body.layers == 0) return;
  backward_input(block, activation, head.in, head.out, outputs, 1, places.rows,
                 params + head.weight, 1, head.in, rows, work + places.top(body));
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
    backward_input(block, activation, layer.in, layer.out, delta, TilePlaces::row(layer.row_out()),
                   1, params + layer.weight, layer.out, 1, rows, below);
    block.sync();
  }
}

}  // namespace broadloom::cuda
