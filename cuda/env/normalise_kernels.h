// Normalisation by running statistics, with the bits of ObsNormalizer (rollout/normalizer.h). The
// statistics stay on the host. The host receives a block's sums, and sends new statistics before
// the next block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "broadloom/rollout/normalizer.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// The device's ObsNormalizer::normalize(). mean null: numbers stay as they are.
struct ObservationScale {
  const double *mean, *scale;  // [D]
  float limit;

  BROADLOOM_HD float apply(float x, int column) const {
    return mean == nullptr ? x : element::standardise(x, mean[column], scale[column], limit);
  }
  // Bytes are divided by their full scale instead.
  BROADLOOM_HD std::uint8_t apply(std::uint8_t x, int) const { return x; }
};

// Normalises numbers [count] of rows [.., D], possibly in place. One thread per number.
template <class Number>
struct NormaliseKernel {
  const Number* source;
  Number* target;
  std::size_t count;
  int D;
  ObservationScale seen;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const std::size_t i =
        static_cast<std::size_t>(block.index()) * block.threads() + block.thread();
    if (i < count) target[i] = seen.apply(source[i], static_cast<int>(i % D));
  }
};

// Contiguous rows [.., D] of floats.
struct FloatRows {
  const float* floats;

  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    return floats[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)];
  }
};

// Sums of raw rows [T, N, D] for the statistics: (x - mean) and (x - mean)^2 per shard of
// environments.
//
// Each column has kMomentRows chains, one thread per chain. Chain k takes rows k, k + kMomentRows,
// ... of each group of rows that the host takes at a time. A group is a shard's rows of one step,
// or of as many steps as fill a tile. Rows: any type that reads number i of a row.
template <class Rows>
struct MomentsKernel {
  static constexpr int kMomentRows = ObsNormalizer::kChains;

  Rows rows;
  bool by_tiles;  // groups are tiles; otherwise steps
  int T, N, D;
  int shard_rows;      // environments of a shard, except the last
  const double* mean;  // [D]
  double* sums;        // [shards, 2, kMomentRows, D]

  static KernelShape shape(int shards, int D) { return shape_for_rows(shards * kMomentRows * D); }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int places = kMomentRows * D, e = block.index() * block.threads() + block.thread();
    const int shard = e / places, place = e % places, column = place % D;
    if (shard * shard_rows >= N) return;
    const int begin = shard * shard_rows;
    const int end = begin + shard_rows < N ? begin + shard_rows : N;
    const int steps = by_tiles ? kTileRows / (end - begin) : 1;  // steps per group
    double sum = 0.0, squares = 0.0;
    int n = 0, left = 0;  // left: remaining steps of the present group
    for (int t = 0; t < T; ++t) {
      if (left == 0) {
        n = begin + place / D;
        left = steps;
      }
      --left;
      for (; n < end; n += kMomentRows) {
        const std::size_t row = static_cast<std::size_t>(t) * N + n;
        const double difference = rows.read(row, column, D) - mean[column];
        sum += difference;
        squares += difference * difference;
      }
      n -= end - begin;  // continues there in the next step
    }
    double* const shard_sums = sums + static_cast<std::size_t>(2 * shard) * places + place;
    shard_sums[0] = sum;
    shard_sums[places] = squares;
  }
};

}  // namespace broadloom::cuda
