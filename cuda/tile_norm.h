// Rows of a tile brought to mean 0 and variance 1, by all threads of a block together: the bits of
// layer_norm and layer_norm_backward (math/layer_norm.h), whose sums over a row run in kNormLanes
// virtual lanes.
#pragma once

#include <cmath>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "cuda/kernel.h"
#include "cuda/network.h"

namespace broadloom::cuda {

inline constexpr int kNormLanes = 16;  // threads that work on a row

// Of the lanes of a row; each of its threads gets it.
template <class Block>
BROADLOOM_HD float lanes_total(Block& block, float lane) {
  for (int mask = kNormLanes / 2; mask > 0; mask /= 2) lane += block.shuffle_xor(lane, mask);
  return lane;
}

// f(row, lane, is_there) by the kNormLanes threads of every row, of which the last round's may not
// be there: all come, for they exchange numbers.
template <class Block, class F>
BROADLOOM_HD void over_rows(Block& block, int rows, F&& f) {
  const int at_once = block.threads() / kNormLanes;
  for (int first = 0; first < rows; first += at_once) {
    const int r = first + block.thread() / kNormLanes;
    f(r, block.thread() % kNormLanes, r < rows);
  }
}

// Mean and 1 / sqrt(variance + epsilon) of each row of x [rows, size] to moments [rows, 2].
template <class Block>
BROADLOOM_HD void row_moments(Block& block, const float* x, int size, int rows, float* moments) {
  const int stride = TilePlaces::row(size);
  const float share = 1.0f / static_cast<float>(size);
  over_rows(block, rows, [&](int r, int lane, bool is_there) {
    const float* const of = x + r * stride;
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; is_there && i < size; i += kNormLanes) sum += of[i];
    const float mean = lanes_total(block, sum) * share;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float difference = of[i] - mean;
      squares = element::mul_add(difference, difference, squares);
    }
    const float variance = lanes_total(block, squares) * share;
    if (!is_there || lane != 0) return;
    moments[2 * r] = mean;
    moments[2 * r + 1] = 1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
  });
}

BROADLOOM_HD inline float normalised(float x, const float* moments, int r) {
  return (x - moments[2 * r]) * moments[2 * r + 1];
}

// y = activation(gain z + bias), z being x normalised; y may be x. What is there before must be
// whole, and what comes out is (sync()).
template <class Block>
BROADLOOM_HD void norm_forward(Block& block, const DeviceNorm& norm, int size,
                               Activation activation, const float* params, const float* x,
                               float* moments, float* y, int rows) {
  row_moments(block, x, size, rows, moments);
  block.sync();
  const int stride = TilePlaces::row(size);
  for (int e = block.thread(); e < rows * size; e += block.threads()) {
    const int r = e / size, i = e % size;
    const float z = normalised(x[r * stride + i], moments, r);
    y[r * stride + i] = element::activate(
        activation, element::mul_add(params[norm.gain + i], z, params[norm.bias + i]));
  }
  block.sync();
}

// From delta [rows, size], the derivative before the activation: adds to those of gain and bias,
// each of which is one chain over the rows, and puts that for x in the place of x:
// scale (g - mean(g) - z mean(g z)) with g = gain delta.
template <class Block>
BROADLOOM_HD void norm_backward(Block& block, const DeviceNorm& norm, int size, const float* params,
                                const float* delta, const float* moments, float* x, int rows,
                                float* grads) {
  const int stride = TilePlaces::row(size);
  for (int i = block.thread(); i < size; i += block.threads()) {
    float gain = grads[norm.gain + i], bias = grads[norm.bias + i];
    for (int r = 0; r < rows; ++r) {
      const float d = delta[r * stride + i];
      gain = element::mul_add(d, normalised(x[r * stride + i], moments, r), gain);
      bias += d;
    }
    grads[norm.gain + i] = gain;
    grads[norm.bias + i] = bias;
  }
  block.sync();
  const float share = 1.0f / static_cast<float>(size);
  over_rows(block, rows, [&](int r, int lane, bool is_there) {
    float* const of = x + r * stride;
    const auto g_of = [&](int i) { return params[norm.gain + i] * delta[r * stride + i]; };
    float sum_g = 0.0f, sum_gz = 0.0f;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float g = g_of(i);
      sum_g += g;
      sum_gz = element::mul_add(g, normalised(of[i], moments, r), sum_gz);
    }
    const float mean_g = lanes_total(block, sum_g) * share;
    const float mean_gz = lanes_total(block, sum_gz) * share;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float z = normalised(of[i], moments, r);
      of[i] = moments[2 * r + 1] * element::mul_add(-z, mean_gz, g_of(i) - mean_g);
    }
  });
  block.sync();
}

}  // namespace broadloom::cuda
