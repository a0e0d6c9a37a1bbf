// The derivatives of a tile that forward_tile has gone through, by all threads of a block together:
// the bits of ActorCritic::backward.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/kernel.h"
#include "cuda/network.h"
#include "cuda/tile_forward.h"

namespace broadloom::cuda {

// Adds to dw and db of a layer; each is one chain over the rows and their patches, which goes on
// from tile to tile. x [rows, row_in], delta [rows, row_out]. Of the numbers (in + 1) x out, those
// from `first` on.
template <class Team>
BROADLOOM_HD void backward_weights_singly(const Team& team, const DeviceLayer& layer, int first,
                                          const float* x, const float* delta, int rows,
                                          float* grads) {
  const Patches& patches = layer.patches;
  const int x_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
  for (int e = first + team.thread(); e < (layer.in + 1) * layer.out; e += team.threads()) {
    const int o = e % layer.out, i = e / layer.out;
    const bool is_weight = i < layer.in;
    const float* const from = x + (is_weight ? patches.at(i) : 0);
    float* const to = grads + (is_weight ? layer.weight + i * layer.out : layer.bias) + o;
    float sum = *to;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
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

// The same; 16 at a time where that is work for most of the team.
template <class Team>
BROADLOOM_HD void backward_weights(const Team& team, const DeviceLayer& layer, const float* x,
                                   const float* delta, int rows, float* grads) {
  const int squares = layer.in * layer.out / 16;
  if (layer.patches.count() != 1 || (layer.in | layer.out) % 4 != 0 ||
      squares < team.threads() / 2) {
    return backward_weights_singly(team, layer, 0, x, delta, rows, grads);
  }
  const int x_row = TilePlaces::row(layer.in), d_row = TilePlaces::row(layer.out);
  // Rows and columns of W in the place of a tile's: four inputs that lie together, and four outputs.
  const int down = layer.in / 4, across = layer.out / 4;
  for (int e = team.thread(); e < down * across; e += team.threads()) {
    const int i = e / across * 4, o = e % across * 4;
    float sums[4][4];
    float* const to = grads + layer.weight + i * layer.out + o;
    for (int k = 0; k < 4; ++k) {
      for (int c = 0; c < 4; ++c) sums[k][c] = to[k * layer.out + c];
    }
    add_outer(x + i, x_row, delta + o, d_row, rows, sums);
    for (int k = 0; k < 4; ++k) {
      for (int c = 0; c < 4; ++c) to[k * layer.out + c] = sums[k][c];
    }
  }
  const int behind = team.thread() - squares % team.threads();  // who has one square fewer begins
  const Team last{behind < 0 ? behind + team.threads() : behind, team.threads()};
  backward_weights_singly(last, layer, layer.in * layer.out, x, delta, rows, grads);
}

// Likewise of a head. delta [out, stride].
template <class Team>
BROADLOOM_HD void backward_head_weights(const Team& team, const DeviceLayer& head, const float* x,
                                        const float* delta, int stride, int rows, float* grads) {
  const int x_row = TilePlaces::row(head.row_in);
  for (int e = team.thread(); e < head.out * (head.in + 1); e += team.threads()) {
    const int i = e % (head.in + 1), o = e / (head.in + 1);
    float* const to = i < head.in ? grads + head.weight + o * head.in + i : grads + head.bias + o;
    float sum = *to;
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int r = 0; r < rows; ++r) {
      const float d = delta[o * stride + r];
      sum = i < head.in ? element::mul_add(d, x[r * x_row + i], sum) : sum + d;
    }
    *to = sum;
  }
}

// What comes down from above to y [rows, in], what the layer below gave, as the derivative before
// its activation: delta = activation'(y) times sum_of(r, i).
template <class Team, class Sum>
BROADLOOM_HD void backward_input(const Team& team, Activation activation, int in, int rows,
                                 const float* y, float* delta, Sum&& sum_of) {
  const int row = TilePlaces::row(in);
  for (int e = team.thread(); e < rows * in; e += team.threads()) {
    const int i = e % in, r = e / in, place = r * row + i;
    delta[place] = element::activate_backward(activation, y[place], sum_of(r, i));
  }
}

// sum over o of delta[o] w[o], one chain.
BROADLOOM_HD inline float chain_over(int out, const float* delta, int next_delta, const float* w,
                                     int next_w) {
  float sum = 0.0f;
  for (int o = 0; o < out; ++o) sum = element::mul_add(delta[o * next_delta], w[o * next_w], sum);
  return sum;
}

// From a layer's delta [rows, out] to that of the layer below, which gave y [rows, in].
template <class Team>
BROADLOOM_HD void backward_layer(const Team& team, const DeviceLayer& layer, Activation activation,
                                 const TileParams& params, const float* y, const float* delta,
                                 int rows, float* below) {
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
  over_squares(team, rows, layer.in, [&](const Square& at) {
    const float* of[4];
    float sums[4][4] = {};
    for (int k = 0; k < 4; ++k) {
      of[k] = delta + (at.row + k * at.apart < rows ? at.row + k * at.apart : at.row) * d_row;
    }
    add_run(of, w + at.column, layer.in, layer.out, sums);
    for (int k = 0; k < 4 && at.row + k * at.apart < rows; ++k) {
      const int first = (at.row + k * at.apart) * y_row + at.column;
      for (int c = 0; c < 4; ++c) {
        below[first + c] = element::activate_backward(activation, y[first + c], sums[k][c]);
      }
    }
  });
}

// From the heads' deltas to that of the last layer. Two heads' chains are added up.
template <class Team>
BROADLOOM_HD void backward_heads(const Team& team, const DeviceBody& body, Activation activation,
                                 const TileParams& params, const TilePlaces& places, float* work,
                                 int rows) {
  const auto chain = [&](const DeviceLayer& head, int outputs, int r, int i) {
    return chain_over(head.out, work + outputs + r, places.rows, params.at(head.weight) + i,
                      head.in);
  };
  const int last = body.layers - 1;
  backward_input(team, activation, body.head.in, rows, work + places.hidden[last],
                 work + places.delta[last], [&](int r, int i) {
                   const float of_head = chain(body.head, places.outputs, r, i);
                   if (!body.has_two_heads()) return of_head;
                   return chain(body.value_head, places.values, r, i) + of_head;
                 });
}

// From the outputs' derivatives at places.outputs, and of values at places.values. Adds to grads
// [P]. What two halves of the block do at a time is apart: a layer's weights, and the delta of the
// layer below. All of it is done when a thread comes back (sync()).
template <class Block>
BROADLOOM_HD void backward_tile(Block& block, const DeviceBody& body, Activation activation,
                                const TileParams& params, const TilePlaces& places, float* work,
                                int rows, float* grads) {
  const Team all = whole_team(block);
  const float* const top = work + places.top(body);
  backward_head_weights(all, body.head, top, work + places.outputs, places.rows, rows, grads);
  backward_head_weights(all, body.value_head, top, work + places.values, places.rows, rows, grads);
  if (body.layers > 0) backward_heads(all, body, activation, params, places, work, rows);
  block.sync();
  const int half = block.threads() / 2;
  const bool is_second = block.thread() >= half;
  const Team one_half{block.thread() - (is_second ? half : 0),
                      is_second ? block.threads() - half : half};
  for (int l = body.layers - 1; l >= 0; --l) {
    const DeviceLayer& layer = body.hidden[l];
    const float* const below = work + (l > 0 ? places.hidden[l - 1] : places.x);
    const float* delta = work + places.delta[l];
    if (body.norms[l].is_there()) {
      float* const linear = work + places.linear[l];
      norm_backward(block, body.norms[l], params, delta, work + places.moments[l], linear, rows,
                    grads);
      delta = linear;
    }
    if (l == 0) {
      backward_weights(all, layer, below, delta, rows, grads);
    } else if (!is_second) {
      backward_weights(one_half, layer, below, delta, rows, grads);
    } else {
      backward_layer(one_half, layer, activation, params, below, delta, rows,
                     work + places.delta[l - 1]);
    }
    block.sync();
  }
}

}  // namespace broadloom::cuda
