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

// Where part q of a tile's rows is, which have `parts` each: its first number.
BROADLOOM_HD inline int part_at(const DeviceNorm& norm, int q) {
  return q / norm.parts * TilePlaces::row(norm.parts * norm.size) + q % norm.parts * norm.size;
}

// f(part, lane, is_there) by the kNormLanes threads of every part, of which the last round's may
// not be there: all come, for they exchange numbers.
template <class Block, class F>
BROADLOOM_HD void over_parts(Block& block, int count, F&& f) {
  const int at_once = block.threads() / kNormLanes;
  for (int first = 0; first < count; first += at_once) {
    const int q = first + block.thread() / kNormLanes;
    f(q, block.thread() % kNormLanes, q < count);
  }
}

// Mean and 1 / sqrt(variance + epsilon) of each part of x [rows, parts, size] to moments
// [rows, parts, 2].
template <class Block>
BROADLOOM_HD void part_moments(Block& block, const DeviceNorm& norm, const float* x, int rows,
                               float* moments) {
  const int size = norm.size;
  const float share = 1.0f / static_cast<float>(size);
  over_parts(block, rows * norm.parts, [&](int q, int lane, bool is_there) {
    const float* const of = x + part_at(norm, q);
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; is_there && i < size; i += kNormLanes) sum += of[i];
    const float mean = lanes_total(block, sum) * share;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float difference = of[i] - mean;
      squares = element::mul_add(difference, difference, squares);
    }
    const float variance = lanes_total(block, squares) * share;
    if (!is_there || lane != 0) return;
    moments[2 * q] = mean;
    moments[2 * q + 1] = 1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
  });
}

BROADLOOM_HD inline float normalised(float x, const float* moments, int q) {
  return (x - moments[2 * q]) * moments[2 * q + 1];
}

// y = activation(gain z + bias), z being x normalised; y may be x. What is there before must be
// whole, and what comes out is (sync()).
template <class Block>
BROADLOOM_HD void norm_forward(Block& block, const DeviceNorm& norm, Activation activation,
                               const float* params, const float* x, float* moments, float* y,
                               int rows) {
  part_moments(block, norm, x, rows, moments);
  block.sync();
  for (int e = block.thread(); e < rows * norm.parts * norm.size; e += block.threads()) {
    const int q = e / norm.size, i = e % norm.size, place = part_at(norm, q) + i;
    const float z = normalised(x[place], moments, q);
    y[place] = element::activate(activation,
                                 element::mul_add(params[norm.gain + i], z, params[norm.bias + i]));
  }
  block.sync();
}

// From delta [rows, parts, size], the derivative before the activation: adds to those of gain and
// bias, each of which is one chain over the rows and their parts, and puts that for x in the place
// of x: scale (g - mean(g) - z mean(g z)) with g = gain delta.
template <class Block>
BROADLOOM_HD void norm_backward(Block& block, const DeviceNorm& norm, const float* params,
                                const float* delta, const float* moments, float* x, int rows,
                                float* grads) {
  const int size = norm.size, stride = TilePlaces::row(norm.parts * size);
  for (int i = block.thread(); i < size; i += block.threads()) {
    float gain = grads[norm.gain + i], bias = grads[norm.bias + i];
    for (int r = 0, q = 0; r < rows; ++r) {
      for (int place = r * stride + i; q < (r + 1) * norm.parts; ++q, place += size) {
        const float d = delta[place];
        gain = element::mul_add(d, normalised(x[place], moments, q), gain);
        bias += d;
      }
    }
    grads[norm.gain + i] = gain;
    grads[norm.bias + i] = bias;
  }
  block.sync();
  const float share = 1.0f / static_cast<float>(size);
  over_parts(block, rows * norm.parts, [&](int q, int lane, bool is_there) {
    const int begin = part_at(norm, q);
    float* const of = x + begin;
    const auto g_of = [&](int i) { return params[norm.gain + i] * delta[begin + i]; };
    float sum_g = 0.0f, sum_gz = 0.0f;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float g = g_of(i);
      sum_g += g;
      sum_gz = element::mul_add(g, normalised(of[i], moments, q), sum_gz);
    }
    const float mean_g = lanes_total(block, sum_g) * share;
    const float mean_gz = lanes_total(block, sum_gz) * share;
    for (int i = lane; is_there && i < size; i += kNormLanes) {
      const float z = normalised(of[i], moments, q);
      of[i] = moments[2 * q + 1] * element::mul_add(-z, mean_gz, g_of(i) - mean_g);
    }
  });
  block.sync();
}

}  // namespace broadloom::cuda
