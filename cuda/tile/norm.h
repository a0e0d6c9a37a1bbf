// Layer normalisation of a tile's rows, by all threads of a block together. It has the bits of
// layer_norm and layer_norm_backward (math/layer_norm.h), whose sums over a row use kNormLanes
// virtual lanes.
#pragma once

#include <cmath>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

inline constexpr int kNormLanes = 16;

// The lanes of one thread in a sum over a part by kThreads threads: its own number's, and every
// kThreads-th after it.
template <int kThreads>
struct PartSum {
  static constexpr int kOwn = kNormLanes / kThreads;
  float lanes[kOwn] = {};

  // Adds the upper half of all lanes to the lower half until one is left. Each of the part's
  // threads receives the total.
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

// The scale of a part, and where part q keeps its mean and scale.
BROADLOOM_HD inline float norm_scale(float variance) {
  return 1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
}
BROADLOOM_HD inline void keep_moments(float* moments, int q, float mean, float scale) {
  moments[2 * q] = mean;
  moments[2 * q + 1] = scale;
}
// The derivative of one number. g = gain delta, z is the normalised number, mean_g and mean_gz are
// the means of g and g z.
BROADLOOM_HD inline float norm_backward_of(float scale, float g, float z, float mean_g,
                                           float mean_gz) {
  return scale * element::mul_add(-z, mean_gz, g - mean_g);
}

// Calls f(i, k) for a thread's numbers i of `size`, which belong to lane k of its lanes.
template <int kThreads, class F>
BROADLOOM_HD void over_numbers(int thread, int size, F&& f) {
  for (int first = thread; first < size; first += kNormLanes) {
    for (int k = 0; k < PartSum<kThreads>::kOwn; ++k) {
      if (first + k * kThreads < size) f(first + k * kThreads, k);
    }
  }
}

// Offset of part q of a tile's rows, which have `parts` parts each.
BROADLOOM_HD inline int part_at(const DeviceNorm& norm, int q) {
  return q / norm.parts * TilePlaces::row(norm.parts * norm.size) + q % norm.parts * norm.size;
}

// Threads per part. An image has many short parts, with one thread each. A whole row has a thread
// per lane. A part with one number per lane (LaneFours) has four.
constexpr int kForParts = 1, kForRows = kNormLanes, kForLanes = 4;

// Calls f(part, thread, size) with the kThreads threads of every part. All threads call f, because
// they exchange numbers; in the last round, missing parts have size 0.
template <int kThreads, class Block, class F>
BROADLOOM_HD void over_parts(Block& block, const DeviceNorm& norm, int rows, F&& f) {
  const int at_once = block.threads() / kThreads, count = rows * norm.parts;
#ifdef __CUDA_ARCH__
#pragma unroll(kThreads == kForLanes ? 2 : 1)  // otherwise short parts wait for one another
#endif
  for (int first = 0; first < count; first += at_once) {
    const int q = first + block.thread() / kThreads;
    f(q, block.thread() % kThreads, q < count ? norm.size : 0);
  }
}

// One thread's numbers of a part, if they are few: each is read only once.
template <int kThreads>
struct FewNumbers {
  static constexpr int kMost = 16;
  float values[kMost];

  BROADLOOM_HD static bool fit(int size) { return size <= kMost * kThreads; }
  // Number j is number at(thread, j) of the part, and belongs to lane j % kOwn.
  BROADLOOM_HD static int at(int thread, int j) { return thread + kThreads * j; }
  BROADLOOM_HD FewNumbers(const float* source, int thread, int size) {
    for (int j = 0; j < kMost; ++j) values[j] = at(thread, j) < size ? source[at(thread, j)] : 0.0f;
  }
  template <class F>
  BROADLOOM_HD static void each(int thread, int size, F&& f) {
    for (int j = 0; j < kMost; ++j) {
      if (at(thread, j) < size) f(at(thread, j), j % PartSum<kThreads>::kOwn, j);
    }
  }
};

// Calls f with the activation of one number. Activations with much code are called, not inlined: a
// long kernel would wait for its own instructions.
BROADLOOM_CALLED BROADLOOM_HD inline float activate_by_call(Activation activation, float x) {
  return element::activate(activation, x);
}
template <class F>
BROADLOOM_HD void with_activation(Activation activation, F&& f) {
  if (activation == Activation::kRelu) {
    f([](float x) { return element::activate(Activation::kRelu, x); });
  } else {
    f([activation](float x) { return activate_by_call(activation, x); });
  }
}

// A part with one number per lane, in four threads of four neighbours each. A warp reads and writes
// eight parts without gaps. Threads with a part each (FewNumbers) would be 64 bytes apart.
struct LaneFours {
  Four lanes;

  BROADLOOM_HD static bool fit(const DeviceNorm& norm) {
    return norm.size == kNormLanes && norm.parts > 1;
  }
  // As PartSum::total().
  template <class Block>
  BROADLOOM_HD float total(Block& block) {
    for (int mask = kForLanes / 2; mask > 0; mask /= 2) {
      for (float& lane : lanes.values) lane += block.shuffle_xor(lane, mask);
    }
    return (lanes.values[0] + lanes.values[2]) + (lanes.values[1] + lanes.values[3]);
  }
};

// y = activation(gain z + bias) for each part of x [rows, parts, size], with z the normalised x; y
// may be x. moments [rows, parts, 2] receive mean and 1 / sqrt(variance + epsilon). z receives the
// normalised x; it may be x, or null if it is not needed.
template <int kThreads, class Block>
BROADLOOM_HD void norm_forward_parts(Block& block, const DeviceNorm& norm, Activation activation,
                                     const TileParams& params, const float* x, float* moments,
                                     float* z, float* y, int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float *const gain = params.at(norm.gain), *const bias = params.at(norm.bias);
  const bool is_few = FewNumbers<kThreads>::fit(norm.size);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q);
    const float* const input = x + begin;
    const FewNumbers<kThreads> own(input, thread, is_few ? size : 0);
    // Calls f(i, lane, number i).
    const auto each = [&](auto&& f) {
      if (is_few) {
        return FewNumbers<kThreads>::each(thread, size,
                                          [&](int i, int k, int j) { f(i, k, own.values[j]); });
      }
      over_numbers<kThreads>(thread, size, [&](int i, int k) { f(i, k, input[i]); });
    };
    PartSum<kThreads> sum, squares;
    each([&](int, int k, float number) { sum.lanes[k] += number; });
    const float mean = sum.total(block) * share;
    each([&](int, int k, float number) {
      const float difference = number - mean;
      squares.lanes[k] = element::mul_add(difference, difference, squares.lanes[k]);
    });
    const float scale = norm_scale(squares.total(block) * share);
    with_activation(activation, [&](auto&& activate) {
      each([&](int i, int, float number) {
        const float normalised = (number - mean) * scale;
        if (z != nullptr) z[begin + i] = normalised;
        y[begin + i] = activate(element::mul_add(gain[i], normalised, bias[i]));
      });
    });
    if (size > 0 && thread == 0) keep_moments(moments, q, mean, scale);
  });
}
template <class Block>
BROADLOOM_HD void norm_forward_lanes(Block& block, const DeviceNorm& norm, Activation activation,
                                     const TileParams& params, const float* x, float* moments,
                                     float* z, float* y, int rows) {
  const float share = 1.0f / static_cast<float>(kNormLanes);
  const int first = block.thread() % kForLanes * 4;  // this thread's numbers of each part
  float gain[4], bias[4];
  for (int k = 0; k < 4; ++k) {
    gain[k] = *params.at(norm.gain + first + k);
    bias[k] = *params.at(norm.bias + first + k);
  }
  over_parts<kForLanes>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q) + first;
    const Four own = size > 0 ? load_four(x + begin) : Four{};
    LaneFours sum, squares;
    for (int k = 0; k < 4; ++k) sum.lanes.values[k] = 0.0f + own.values[k];
    const float mean = sum.total(block) * share;
    Four made;
    for (int k = 0; k < 4; ++k) {
      made.values[k] = own.values[k] - mean;
      squares.lanes.values[k] = element::mul_add(made.values[k], made.values[k], 0.0f);
    }
    const float scale = norm_scale(squares.total(block) * share);
    if (size == 0) return;
    for (int k = 0; k < 4; ++k) made.values[k] = made.values[k] * scale;
    if (z != nullptr) store_four(made, z + begin);
    with_activation(activation, [&](auto&& activate) {
      for (int k = 0; k < 4; ++k) {
        made.values[k] = activate(element::mul_add(gain[k], made.values[k], bias[k]));
      }
    });
    store_four(made, y + begin);
    if (thread == 0) keep_moments(moments, q, mean, scale);
  });
}

template <class Block>
BROADLOOM_HD void norm_forward(Block& block, const DeviceNorm& norm, Activation activation,
                               const TileParams& params, const float* x, float* moments, float* z,
                               float* y, int rows) {
  if (LaneFours::fit(norm)) {
    norm_forward_lanes(block, norm, activation, params, x, moments, z, y, rows);
  } else if (norm.parts > 1) {
    norm_forward_parts<kForParts>(block, norm, activation, params, x, moments, z, y, rows);
  } else {
    norm_forward_parts<kForRows>(block, norm, activation, params, x, moments, z, y, rows);
  }
}

// of = scale (g - mean(g) - z mean(g z)) with g = gain delta: norm_backward_of().
template <int kThreads, class Block>
BROADLOOM_HD void norm_backward_parts(Block& block, const DeviceNorm& norm,
                                      const TileParams& params, const float* delta,
                                      const float* moments, const float* z, float* before,
                                      int rows) {
  const float share = 1.0f / static_cast<float>(norm.size);
  const float* const gain = params.at(norm.gain);
  const bool is_few = FewNumbers<kThreads>::fit(norm.size);
  over_parts<kThreads>(block, norm, rows, [&](int q, int thread, int size) {
    const int begin = part_at(norm, q), few = is_few ? size : 0;
    const FewNumbers<kThreads> deltas(delta + begin, thread, few), zs(z + begin, thread, few);
    // Calls f(i, lane, gain delta, z).
    const auto each = [&](auto&& f) {
      if (is_few) {
        return FewNumbers<kThreads>::each(thread, size, [&](int i, int k, int j) {
          f(i, k, gain[i] * deltas.values[j], zs.values[j]);
        });
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
      before[begin + i] = norm_backward_of(moments[2 * q + 1], g, of_z, mean_g, mean_gz);
    });
  });
}

template <class Block>
BROADLOOM_HD void norm_backward_lanes(Block& block, const DeviceNorm& norm,
                                      const TileParams& params, const float* delta,
                                      const float* moments, const float* z, float* before,
                                      int rows) {
  const float share = 1.0f / static_cast<float>(kNormLanes);
  const int first = block.thread() % kForLanes * 4;  // this thread's numbers of each part
  float gain[4];
  for (int k = 0; k < 4; ++k) gain[k] = *params.at(norm.gain + first + k);
  over_parts<kForLanes>(block, norm, rows, [&](int q, int, int size) {
    const int begin = part_at(norm, q) + first;
    Four g = size > 0 ? load_four(delta + begin) : Four{};
    const Four of_z = size > 0 ? load_four(z + begin) : Four{};
    LaneFours sum_g, sum_gz;
    for (int k = 0; k < 4; ++k) {
      g.values[k] = gain[k] * g.values[k];
      sum_g.lanes.values[k] = 0.0f + g.values[k];
      sum_gz.lanes.values[k] = element::mul_add(g.values[k], of_z.values[k], 0.0f);
    }
    const float mean_g = sum_g.total(block) * share;
    const float mean_gz = sum_gz.total(block) * share;
    if (size == 0) return;
    const float scale = moments[2 * q + 1];
    for (int k = 0; k < 4; ++k) {
      g.values[k] = norm_backward_of(scale, g.values[k], of_z.values[k], mean_g, mean_gz);
    }
    store_four(g, before + begin);
  });
}

// From delta [rows, parts, size], the derivative before the activation, to the derivative before
// the normalisation.
template <class Block>
BROADLOOM_HD void norm_backward(Block& block, const DeviceNorm& norm, const TileParams& params,
                                const float* delta, const float* moments, const float* z,
                                float* before, int rows) {
  if (LaneFours::fit(norm)) {
    norm_backward_lanes(block, norm, params, delta, moments, z, before, rows);
  } else if (norm.parts > 1) {
    norm_backward_parts<kForParts>(block, norm, params, delta, moments, z, before, rows);
  } else {
    norm_backward_parts<kForRows>(block, norm, params, delta, moments, z, before, rows);
  }
}

}  // namespace broadloom::cuda
