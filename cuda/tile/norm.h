// Rows of a tile brought to mean 0 and variance 1, by all threads of a block together: the bits of
// layer_norm and layer_norm_backward (math/layer_norm.h), whose sums over a row run in kNormLanes
// virtual lanes.
#pragma once

#include <cmath>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"

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

// The numbers of a part that one of its kThreads threads has, where they are few: read once.
template <int kThreads>
struct FewNumbers {
  static constexpr int kMost = 16;
  float of[kMost];

  BROADLOOM_HD static bool fit(int size) { return size <= kMost * kThreads; }
  // The j-th is number at(thread, j) of the part, which belongs to lane j % kOwn.
  BROADLOOM_HD static int at(int thread, int j) { return thread + kThreads * j; }
  BROADLOOM_HD FewNumbers(const float* from, int thread, int size) {
    for (int j = 0; j < kMost; ++j) of[j] = at(thread, j) < size ? from[at(thread, j)] : 0.0f;
  }
  template <class F>
  BROADLOOM_HD static void each(int thread, int size, F&& f) {
    for (int j = 0; j < kMost; ++j) {
      if (at(thread, j) < size) f(at(thread, j), j % PartSum<kThreads>::kOwn, j);
    }
  }
};

// y = activation(gain z + bias) of each part of x [rows, parts, size], z being x normalised; y may
// be x. moments [rows, parts, 2]: get mean and 1 / sqrt(variance + epsilon). z: gets itself, in the
// place of x; null: nobody asks for it.
template <int kThreads, class Block>
BROADLOOM_HD void norm_forward_parts(Block& block, const DeviceNorm& norm, Activation activation,
                                     const TileParams& params, const float* x, float* moments,
                                     float* z, float* y, int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float *const gain = params.at(norm.gain), *const bias = params.at(norm.bias);
  const bool is_few = FewNumbers<kThreads>::fit(norm.size);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q);
    const float* const of = x + begin;
    const FewNumbers<kThreads> own(of, thread, is_few ? size : 0);
    // f(i, lane, number i)
    const auto each = [&](auto&& f) {
      if (is_few) {
        return FewNumbers<kThreads>::each(thread, size,
                                          [&](int i, int k, int j) { f(i, k, own.of[j]); });
      }
      over_numbers<kThreads>(thread, size, [&](int i, int k) { f(i, k, of[i]); });
    };
    PartSum<kThreads> sum, squares;
    each([&](int, int k, float number) { sum.lanes[k] += number; });
    const float mean = sum.total(block) * share;
    each([&](int, int k, float number) {
      const float difference = number - mean;
      squares.lanes[k] = element::mul_add(difference, difference, squares.lanes[k]);
    });
    const float variance = squares.total(block) * share;
    const float scale = 1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
    each([&](int i, int, float number) {
      const float normalised = (number - mean) * scale;
      if (z != nullptr) z[begin + i] = normalised;
      y[begin + i] = element::activate(activation, element::mul_add(gain[i], normalised, bias[i]));
    });
    if (size == 0 || thread != 0) return;
    moments[2 * q] = mean;
    moments[2 * q + 1] = scale;
  });
}

template <class Block>
BROADLOOM_HD void norm_forward(Block& block, const DeviceNorm& norm, Activation activation,
                               const TileParams& params, const float* x, float* moments, float* z,
                               float* y, int rows) {
  if (norm.parts > 1) {
    norm_forward_parts<kForParts>(block, norm, activation, params, x, moments, z, y, rows);
  } else {
    norm_forward_parts<kForRows>(block, norm, activation, params, x, moments, z, y, rows);
  }
}

// of = scale (g - mean(g) - z mean(g z)) with g = gain delta.
template <int kThreads, class Block>
BROADLOOM_HD void norm_backward_parts(Block& block, const DeviceNorm& norm,
                                      const TileParams& params, const float* delta,
                                      const float* moments, const float* z, float* of, int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float* const gain = params.at(norm.gain);
  const bool is_few = FewNumbers<kThreads>::fit(norm.size);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q), few = is_few ? size : 0;
    const FewNumbers<kThreads> deltas(delta + begin, thread, few), zs(z + begin, thread, few);
    // f(i, lane, gain delta, z)
    const auto each = [&](auto&& f) {
      if (is_few) {
        return FewNumbers<kThreads>::each(
            thread, size, [&](int i, int k, int j) { f(i, k, gain[i] * deltas.of[j], zs.of[j]); });
      }
      over_numbers<kThreads>(
          thread, size, [&](int i, int k) { f(i, k, gain[i] * delta[begin + i], z[begin + i]); });
    };
    PartSum<kThreads> sum_g, sum_gz;
    each([&](int, int k, float g, float of_z) {
      sum_g.lanes[k] += g;
      sum_gz.lanes[k] = element::mul_add(g, of_z, sum_gz.lanes[k]);
    });
    const float mean_g = sum_g.total(block) * share;
    const float mean_gz = sum_gz.total(block) * share;
    each([&](int i, int, float g, float of_z) {
      of[begin + i] = moments[2 * q + 1] * element::mul_add(-of_z, mean_gz, g - mean_g);
    });
  });
}

// From delta [rows, parts, size], the derivative before the activation, to that for what was
// normalised.
template <class Block>
BROADLOOM_HD void norm_backward(Block& block, const DeviceNorm& norm, const TileParams& params,
                                const float* delta, const float* moments, const float* z, float* of,
                                int rows) {
  if (norm.parts > 1) {
    norm_backward_parts<kForParts>(block, norm, params, delta, moments, z, of, rows);
  } else {
    norm_backward_parts<kForRows>(block, norm, params, delta, moments, z, of, rows);
  }
}

}  // namespace broadloom::cuda
