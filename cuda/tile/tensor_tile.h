// A tile of rows through a body on tensor cores, by all threads of a block together.
#pragma once

#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/norm.h"
#include "cuda/tile/params.h"
#include "cuda/tile/tensor_convolution.h"
#include "cuda/tile/tensor_product.h"
#include "cuda/tile/weight_stream.h"

namespace broadloom::cuda {

// Shared memory of who takes a tile through a body: where patches are, and the weights' ring.
struct TensorRoom {
  BROADLOOM_HD static int floats(const DeviceBody& body, int places) {
    return PatchPlaces::ints(body) + places * WeightStream::kFloats;
  }
};

// What a block has of that.
struct TensorMemory {
  PatchPlaces patches;
  WeightStream stream;
  float* ring;

  // Whole with the next sync().
  template <class Block>
  BROADLOOM_HD TensorMemory(Block& block, const DeviceBody& body, float* room, int places)
      : patches(PatchPlaces::make(block, body, reinterpret_cast<int*>(room))),
        stream(room + PatchPlaces::ints(body), places),
        ring(room + PatchPlaces::ints(body)) {}
};

// The first layer from l on whose weights go by way of the ring.
BROADLOOM_HD inline int next_dense(const DeviceBody& body, int l) {
  while (l < body.layers && body.hidden[l].patches.count() > 1) ++l;
  return l;
}
template <class Block>
BROADLOOM_HD void begin_forward(Block& block, const DeviceBody& body, int l,
                                const TileParams& params, WeightStream& stream) {
  l = next_dense(body, l);
  if (l == body.layers) return;
  stream.begin(block, body.hidden[l], params.at(body.hidden[l].weight), WeightStream::kForward);
}

// Of a dense layer, whose weights are on their way for the first rows.
template <class Block>
BROADLOOM_HD void tensor_layer(Block& block, const DeviceLayer& layer, const Finish& finish,
                               const TileParams& params, WeightStream& stream, const float* x,
                               float* y, int rows) {
  constexpr int kMost = 4;  // tiles at a time
  const int x_row = TilePlaces::row(layer.in), y_row = TilePlaces::row(layer.out);
  const float* const bias = params.at(layer.bias);
  if (rows <= kTensorRows) {
    return tensor_forward<1>(block, stream, layer, finish, bias, x, y);
  }
  if (rows <= 2 * kTensorRows) {
    return tensor_forward<2>(block, stream, layer, finish, bias, x, y);
  }
  for (int first = 0; first < rows; first += kMost * kTensorRows) {
    if (first > 0) {
      block.sync();
      stream.begin(block, layer, params.at(layer.weight), WeightStream::kForward);
    }
    tensor_forward<kMost>(block, stream, layer, finish, bias, x + first * x_row, y + first * y_row);
  }
}

// forward_tile() up to the heads. Room is for a multiple of 8 rows, of 32 where there are more than
// 16. What is there before must be whole (sync()), and what comes out is.
template <class Block>
BROADLOOM_CALLED BROADLOOM_HD void forward_tensor_layers(Block& block, const DeviceBody& body,
                                                         Activation activation,
                                                         const TileParams& params,
                                                         const TilePlaces& places, float* work,
                                                         int rows) {
  TensorMemory memory(block, body, params.stage, params.places);
  begin_forward(block, body, 0, params, memory.stream);
  block.sync();
  const float* x = work + places.x;
  for (int l = 0; l < body.layers; ++l) {
    const DeviceLayer& layer = body.hidden[l];
    const DeviceNorm& norm = body.norms[l];
    const Finish finish{activation, norm.is_there()};
    float *const linear = work + places.linear[l], *const y = work + places.hidden[l];
    if (body.is_of_image(l)) {
      tensor_convolve(block, layer, memory.patches, finish, params, x, linear, rows);
    } else {
      tensor_layer(block, layer, finish, params, memory.stream, x, linear, rows);
    }
    block.sync();
    if (!body.is_of_image(l)) begin_forward(block, body, l + 1, params, memory.stream);
    if (norm.is_there()) {
      norm_forward(block, norm, activation, params, linear, work + places.moments[l],
                   linear == y ? nullptr : linear, y, rows);
      block.sync();
    }
    x = y;
  }
}

}  // namespace broadloom::cuda
