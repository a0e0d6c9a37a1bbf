// Forward pass of a tile of rows through a body on tensor cores, by all threads of a block
// together.
#pragma once

#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/tensor_convolution.h"
#include "cuda/tile/tensor_norm.h"
#include "cuda/tile/tensor_product.h"

namespace broadloom::cuda {

// A dense layer for any number of rows.
template <class Block>
BROADLOOM_HD void tensor_layer(Block& block, const DeviceLayer& layer, const Finish& finish,
                               const float* params, const float* x, float* y, int rows,
                               float* scratch) {
  constexpr int kMost = 4;  // tiles at a time
  const int x_row = TilePlaces::row(layer.in), y_row = TilePlaces::row(layer.out);
  if (rows <= kTensorRows) return tensor_forward<1>(block, layer, finish, params, x, y, scratch);
  if (rows <= 2 * kTensorRows) {
    return tensor_forward<2>(block, layer, finish, params, x, y, scratch);
  }
  for (int first = 0; first < rows; first += kMost * kTensorRows) {
    tensor_forward<kMost>(block, layer, finish, params, x + first * x_row, y + first * y_row,
                          nullptr);
  }
}

// Floats of shared memory beside a tile: the patch tables, and the scratch in which warps join
// sums.
BROADLOOM_HD inline int beside_tensor_tile(const DeviceBody& body) {
  return PatchPlaces::ints(body) + kTensorScratch<2>;
}

// forward_tile() up to the heads. params: in device memory, with the packed copies behind them. The
// workspace has a multiple of 8 rows, of 32 above 16 rows. Inputs must be complete before the call
// (sync()); outputs are complete after it.
template <class Block>
BROADLOOM_CALLED BROADLOOM_HD void forward_tensor_layers(Block& block, const DeviceBody& body,
                                                         Activation activation,
                                                         const TileParams& params,
                                                         const TilePlaces& places, float* work,
                                                         int rows) {
  if (body.layers == 0) return;  // nothing is multiplied before the heads
  const PatchPlaces patches = PatchPlaces::make(block, body, reinterpret_cast<int*>(params.stage));
  float* const scratch = params.stage + PatchPlaces::ints(body);
  round_fours(block, work + places.x, rows * TilePlaces::row(body.row_in()));
  block.sync();
  const float* x = work + places.x;
  for (int l = 0; l < body.layers; ++l) {
    const DeviceLayer& layer = body.hidden[l];
    const DeviceNorm& norm = body.norms[l];
    const Finish finish{activation, norm.is_there()};
    float *const linear = work + places.linear[l], *const y = work + places.hidden[l];
    if (body.is_of_image(l)) {
      tensor_convolve(block, layer, patches, finish, params.start, x, linear, rows);
    } else {
      tensor_layer(block, layer, finish, params.start, x, linear, rows, scratch);
    }
    block.sync();
    if (norm.is_there()) {
      tensor_norm_forward(block, norm, activation, params, linear, work + places.moments[l],
                          linear == y ? nullptr : linear, y, rows);
      block.sync();
    }
    round_fours(block, y, rows * TilePlaces::row(layer.row_out()));
    block.sync();
    x = y;
  }
}

}  // namespace broadloom::cuda
