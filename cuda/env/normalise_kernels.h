// Observations seen through running statistics, with the bits of ObsNormalizer
// (rollout/normalizer.h). The statistics themselves stay with the host: it is given the sums of a
// block, and says before each block what they have come to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/math/element_functions.h"
#include "broadloom/nn/layer.h"
#include "broadloom/rollout/normalizer.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// As ObsNormalizer::normalize(). mean null: numbers stay as they are.
struct ObservationScale {
  const double *mean, *scale;  // [D]
  float limit;

  BROADLOOM_HD float of(float x, int column) const {
    return mean == nullptr ? x : element::standardise(x, mean[column], scale[column], limit);
  }
  // Bytes are divided by their full scale instead.
  BROADLOOM_HD std::uint8_t of(std::uint8_t x, int) const { return x; }
};

// Numbers [count] of rows [.., D], which may stay in their place. One thread a number.
template <class Number>
struct NormaliseKernel {
  const Number* from;
  Number* to;
  std::size_t count;
  int D;
  ObservationScale seen;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const std::size_t i =
        static_cast<std::size_t>(block.index()) * block.threads() + block.thread();
    if (i < count) to[i] = seen.of(from[i], static_cast<int>(i % D));
  }
};

// Rows [.., D] of floats as they lie.
struct FloatRows {
  const float* floats;

  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    return floats[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)];
  }
};

// What raw rows [T, N, D] add to the statistics: for each shard of the environments sums of (x -
// mean) and (x - mean)^2 in kMomentRows chains a column, of which chain k has the rows k, k +
// kMomentRows, ... of what the host takes in at a time: a shard's rows of a step, or of as many
// steps as make a tile. One thread a chain. Rows: anything that reads number i of a row.
template <class Rows>
struct MomentsKernel {
  static constexpr int kMomentRows = ObsNormalizer::kChains;

  Rows rows;
  bool by_tiles;  // or by steps
  int T, N, D;
  int shard_rows;      // environments of a shard, but for the last
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
    const int steps = by_tiles ? kTileRows / (end - begin) : 1;  // at a time
    double sum = 0.0, squares = 0.0;
    int n = 0, left = 0;  // of the steps that chains go through together
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
      n -= end - begin;  // and goes on from there in the next step
    }
    double* const to = sums + static_cast<std::size_t>(2 * shard) * places + place;
    to[0] = sum;
    to[places] = squares;
  }
};

}  // namespace broadloom::cuda
