// Rows of a tile brought to mean 0 and variance 1, by all threads of a block together: the bits of
// layer_norm and layer_norm_backward (math/layer_norm.h), whose sums over a row run in kNormLanes
// virtual lanes.
#pragma once

#include <cmath>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "cuda/kernel.h"
#include "cuda/network.h"
#include "cuda/tile_params.h"

namespace broadloom::cuda {

inline constexpr int kNormLanes = 16;

// The lanes of a sum that one of a part's kThreads threads has: its own number's, and each kThreads
// further on.
template <int kThreads>
struct PartSum {
  static constexpr int kOwn = kNormLanes / kThreads;
  float lanes[kOwn] = {};

  // The upper half of all lanes added to the lower one until one is left; each of the part's
  // threads gets it.
  template <class Block>
  BROADLOOM_HD float total(Block& block) {
    for (int half = kOwn / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    float sum = lanes[0];
    for (int mask = kThreads / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    return sum;
  }
};

// f(i, k) for a thread's numbers i of `size`, which belong to lane k of those that it has.
template <int kThreads, class F>
BROADLOOM_HD void over_numbers(int thread, int size, F&& f) {
  for (int first = thread; first < size; first += kNormLanes) {
    for (int k = 0; k < PartSum<kThreads>::kOwn; ++k) {
      if (first + k * kThreads < size) f(first + k * kThreads, k);
    }
  }
}

// Where part q of a tile's rows is, which have `parts` each: its first number.
BROADLOOM_HD inline int part_at(const DeviceNorm& norm, int q) {
  return q / norm.parts * TilePlaces::row(norm.parts * norm.size) + q % norm.parts * norm.size;
}

// f(part, thread, size) by the kThreads threads of every part. All come, for they exchange numbers:
// to parts of no size, where the last round has fewer.
template <int kThreads, class Block, class F>
BROADLOOM_HD void over_parts(Block& block, const DeviceNorm& norm, int rows, F&& f) {
  const int at_once = block.threads() / kThreads, count = rows * norm.parts;
  for (int first = 0; first < count; first += at_once) {
    const int q = first + block.thread() / kThreads;
    f(q, block.thread() % kThreads, q < count ? norm.size : 0);
  }
}

// The many short parts of an image take a thread each, a whole row as many as it has lanes.
constexpr int kForParts = 1, kForRows = kNormLanes;

BROADLOOM_HD inline float normalised(float x, const float* moments, int q) {
  return (x - moments[2 * q]) * moments[2 * q + 1];
}

// y = activation(gain z + bias) of each part of x [rows, parts, size], z being x normalised; y may
// be x. moments [rows, parts, 2]: get mean and 1 / sqrt(variance + epsilon).
template <int kThreads, class Block>
BROADLOOM_HD void norm_forward_parts(Block& block, const DeviceNorm& norm, Activation activation,
                                     const TileParams& params, const float* x, float* moments,
                                     float* y, int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float *const gain = params.at(norm.gain), *const bias = params.at(norm.bias);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q);
    const float* const of = x + begin;
    PartSum<kThreads> sum, squares;
    over_numbers<kThreads>(thread, size, [&](int i, int k) { sum.lanes[k] += of[i]; });
    const float mean = sum.total(block) * share;
    over_numbers<kThreads>(thread, size, [&](int i, int k) {
      const float difference = of[i] - mean;
      squares.lanes[k] = element::mul_add(difference, difference, squares.lanes[k]);
    });
    const float variance = squares.total(block) * share;
    const float own[2] = {mean,
                          1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon))};
    over_numbers<kThreads>(thread, size, [&](int i, int) {
      const float z = normalised(of[i], own, 0);
      y[begin + i] = element::activate(activation, element::mul_add(gain[i], z, bias[i]));
    });
    if (size == 0 || thread != 0) return;
    moments[2 * q] = own[0];
    moments[2 * q + 1] = own[1];
  });
}

template <class Block>
BROADLOOM_HD void norm_forward(Block& block, const DeviceNorm& norm, Activation activation,
                               const TileParams& params, const float* x, float* moments, float* y,
                               int rows) {
  if (norm.parts > 1) {
    norm_forward_parts<kForParts>(block, norm, activation, params, x, moments, y, rows);
  } else {
    norm_forward_parts<kForRows>(block, norm, activation, params, x, moments, y, rows);
  }
}

// of = scale (g - mean(g) - z mean(g z)) with g = gain delta; it may be x.
template <int kThreads, class Block>
BROADLOOM_HD void norm_backward_parts(Block& block, const DeviceNorm& norm,
                                      const TileParams& params, const float* delta,
                                      const float* moments, const float* x, float* of, int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float* const gain = params.at(norm.gain);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q);
    const float* const from = x + begin;
    const auto g_of = [&](int i) { return gain[i] * delta[begin + i]; };
    PartSum<kThreads> sum_g, sum_gz;
    over_numbers<kThreads>(thread, size, [&](int i, int k) {
      const float g = g_of(i);
      sum_g.lanes[k] += g;
      sum_gz.lanes[k] = element::mul_add(g, normalised(from[i], moments, q), sum_gz.lanes[k]);
    });
    const float mean_g = sum_g.total(block) * share;
    const float mean_gz = sum_gz.total(block) * share;
    over_numbers<kThreads>(thread, size, [&](int i, int) {
      const float z = normalised(from[i], moments, q);
      of[begin + i] = moments[2 * q + 1] * element::mul_add(-z, mean_gz, g_of(i) - mean_g);
    });
  });
}

// From delta [rows, parts, size], the derivative before the activation, to that for x.
template <class Block>
BROADLOOM_HD void norm_backward(Block& block, const DeviceNorm& norm, const TileParams& params,
                                const float* delta, const float* moments, const float* x, float* of,
                                int rows) {
  if (norm.parts > 1) {
    norm_backward_parts<kForParts>(block, norm, params, delta, moments, x, of, rows);
  } else {
    norm_backward_parts<kForRows>(block, norm, params, delta, moments, x, of, rows);
  }
}

// Adds to the derivatives of gain and bias, each of which is one chain over the rows and their
// parts.
template <class Team>
BROADLOOM_HD void norm_backward_params(const Team& team, const DeviceNorm& norm, const float* delta,
                                       const float* moments, const float* x, int rows,
                                       float* grads) {
  const int size = norm.size, stride = TilePlaces::row(norm.parts * size);
  for (int i = team.thread(); i < size; i += team.threads()) {
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
}

}  // namespace broadloom::cuda
