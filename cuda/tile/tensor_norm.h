// Layer normalisation for tensor cores, one warp per row. As norm.h, but sums need not have the
// host's order.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/norm.h"
#include "cuda/tile/params.h"

namespace broadloom::cuda {

template <class Block>
BROADLOOM_HD float warp_sum(Block& block, float sum) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
  return sum;
}

// Calls f(row, lane) with the warps of a block.
template <class Block, class F>
BROADLOOM_HD void warp_each_row(Block& block, int rows, F&& f) {
  for (int r = block.thread() / kWarp; r < rows; r += block.threads() / kWarp) {
    f(r, block.thread() % kWarp);
  }
}

// norm_forward() of whole rows. Short parts of images use norm_forward() itself.
template <class Block>
BROADLOOM_HD void tensor_norm_forward(Block& block, const DeviceNorm& norm, Activation activation,
                                      const TileParams& params, const float* x, float* moments,
                                      float* z, float* y, int rows) {
  if (norm.parts > 1) {
    return norm_forward(block, norm, activation, params, x, moments, z, y, rows);
  }
  const int size = norm.size, row = TilePlaces::row(size);
  const float share = 1.0f / static_cast<float>(size);
  const float *const gain = params.at(norm.gain), *const bias = params.at(norm.bias);
  warp_each_row(block, rows, [&](int r, int lane) {
    const float* const input = x + r * row;
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < size; i += kWarp) sum += input[i];
    const float mean = warp_sum(block, sum) * share;
    for (int i = lane; i < size; i += kWarp) {
      squares = element::mul_add(input[i] - mean, input[i] - mean, squares);
    }
    const float scale = norm_scale(warp_sum(block, squares) * share);
    for (int i = lane; i < size; i += kWarp) {
      const float normalised = (input[i] - mean) * scale;
      if (z != nullptr) z[r * row + i] = normalised;
      y[r * row + i] = activate_by_call(activation, element::mul_add(gain[i], normalised, bias[i]));
    }
    if (lane == 0) keep_moments(moments, r, mean, scale);
  });
}

// norm_backward(), likewise.
template <class Block>
BROADLOOM_HD void tensor_norm_backward(Block& block, const DeviceNorm& norm,
                                       const TileParams& params, const float* delta,
                                       const float* moments, const float* z, float* before,
                                       int rows) {
  if (norm.parts > 1) return norm_backward(block, norm, params, delta, moments, z, before, rows);
  const int size = norm.size, row = TilePlaces::row(size);
  const float share = 1.0f / static_cast<float>(size);
  const float* const gain = params.at(norm.gain);
  warp_each_row(block, rows, [&](int r, int lane) {
    float sum_g = 0.0f, sum_gz = 0.0f;
    for (int i = lane; i < size; i += kWarp) {
      const float g = gain[i] * delta[r * row + i];
      sum_g += g;
      sum_gz = element::mul_add(g, z[r * row + i], sum_gz);
    }
    const float mean_g = warp_sum(block, sum_g) * share;
    const float mean_gz = warp_sum(block, sum_gz) * share;
    for (int i = lane; i < size; i += kWarp) {
      const int place = r * row + i;
      before[place] =
          norm_backward_of(moments[2 * r + 1], gain[i] * delta[place], z[place], mean_g, mean_gz);
    }
  });
}

}  // namespace broadloom::cuda
