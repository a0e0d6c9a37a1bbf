// The products of a convolution that keeps the image's size, and the max pool after it, by a team
// of threads. They have the bits of math/convolution.h and math/max_pool.h.
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/params.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

// A product of each pixel's neighbours with the weights. Both directions visit the neighbours from
// the line above to the line below; back to the input, they meet the kernel from last to first.
struct NeighbourProduct {
  int height, width;
  int depth, columns;  // numbers of a neighbour, which are added up, and of a result
  const float* w;      // number d of the first neighbour meets w[d * w_row + column]
  int w_row, next_tap;
  const float* bias;  // where sums begin; null: at 0

  BROADLOOM_HD static NeighbourProduct forward(const SameConvolution& layer,
                                               const TileParams& params) {
    return {layer.height,
            layer.width,
            layer.channels,
            layer.filters,
            params.at(layer.weight),
            layer.filters,
            layer.channels * layer.filters,
            params.at(layer.bias())};
  }
  // Reads transposed weights.
  BROADLOOM_HD static NeighbourProduct back(const SameConvolution& layer,
                                            const TileParams& params) {
    return {layer.height,
            layer.width,
            layer.filters,
            layer.channels,
            params.transposed_at(layer.weight) + (SameConvolution::kTaps - 1) * layer.channels,
            layer.patch(),
            -layer.channels,
            nullptr};
  }
  BROADLOOM_HD bool is_in_fours() const {
    return (depth | columns | w_row | next_tap) % 4 == 0 && holds_fours(w);
  }
  // Zeros outside the image take part. The host's way back leaves out whole lines of them.
  BROADLOOM_HD bool skips(int line) const {
    return bias == nullptr && (line < 0 || line >= height);
  }
};

// Pixels of a line that a thread works on together, so that it reads a weight once for them.
inline constexpr int kPixelsTogether = 4;

// Adds the products of one neighbour of each pixel. Numbers of a source that is null are 0.
BROADLOOM_HD inline void add_neighbours(const NeighbourProduct& product,
                                        const float* const (&sources)[kPixelsTogether],
                                        const float* w, float (&sums)[kPixelsTogether][4]) {
  for (int d = 0; d < product.depth; d += 4) {
    RunPart<kPixelsTogether> part;
    for (int i = 0; i < 4; ++i) part.w[i] = load_four(w + (d + i) * product.w_row);
    for (int k = 0; k < kPixelsTogether; ++k) {
      part.x[k] = sources[k] != nullptr ? load_four(sources[k] + d) : Four{};
    }
    part.add_to(sums);
  }
}
BROADLOOM_HD inline void add_neighbours(const NeighbourProduct& product,
                                        const float* const (&sources)[kPixelsTogether],
                                        const float* w, float (&sums)[kPixelsTogether][1]) {
  for (int d = 0; d < product.depth; ++d) {
    for (int k = 0; k < kPixelsTogether; ++k) {
      const float x = sources[k] != nullptr ? sources[k][d] : 0.0f;
      sums[k][0] = element::mul_add(x, w[d * product.w_row], sums[k][0]);
    }
  }
}

// Calls finish(offset in the results, sum) for all numbers of `rows` images at x. A thread computes
// kWide columns.
template <int kWide, class Team, class Finish>
BROADLOOM_HD void multiply_neighbours(const Team& team, const NeighbourProduct& product,
                                      const float* x, int rows, Finish&& finish) {
  const int groups = (product.width + kPixelsTogether - 1) / kPixelsTogether;
  const int across = product.columns / kWide, per_row = product.height * groups * across;
  const int pixels = product.height * product.width;
  const int x_row = padded_row(pixels * product.depth),
            y_row = padded_row(pixels * product.columns);
  for (int e = team.thread(); e < rows * per_row; e += team.threads()) {
    const int row = e / per_row, group = e % per_row / across, column = e % across * kWide;
    const int line = group / groups, first = group % groups * kPixelsTogether;
    const float* const image = x + row * x_row;
    float sums[kPixelsTogether][kWide] = {};
    for (int k = 0; k < kPixelsTogether && product.bias != nullptr; ++k) {
      for (int c = 0; c < kWide; ++c) sums[k][c] = product.bias[column + c];
    }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int tap = 0; tap < SameConvolution::kTaps; ++tap) {
      const int y = line + tap / 3 - 1, next = first + tap % 3 - 1;
      if (product.skips(y)) continue;
      const float* sources[kPixelsTogether];
      for (int k = 0; k < kPixelsTogether; ++k) {
        const bool is_there =
            y >= 0 && y < product.height && next + k >= 0 && next + k < product.width;
        sources[k] = is_there ? image + (y * product.width + next + k) * product.depth : nullptr;
      }
      add_neighbours(product, sources, product.w + tap * product.next_tap + column, sums);
    }
    for (int k = 0; k < kPixelsTogether && first + k < product.width; ++k) {
      const int place = row * y_row + (line * product.width + first + k) * product.columns + column;
      for (int c = 0; c < kWide; ++c) finish(place + c, sums[k][c]);
    }
  }
}
template <class Team, class Finish>
BROADLOOM_HD void multiply_neighbours(const Team& team, const NeighbourProduct& product,
                                      const float* x, int rows, Finish&& finish) {
  if (product.is_in_fours()) return multiply_neighbours<4>(team, product, x, rows, finish);
  multiply_neighbours<1>(team, product, x, rows, finish);
}

// A window of the pool, of 3 x 3 pixels every other line and column, within the image.
struct PoolWindow {
  int top, bottom, left, right;  // bottom and right are not in it

  BROADLOOM_HD PoolWindow(const ResidualSection& section, int line, int column)
      : top(line > 0 ? 2 * line - 1 : 0),
        bottom(2 * line + 2 < section.height ? 2 * line + 2 : section.height),
        left(column > 0 ? 2 * column - 1 : 0),
        right(2 * column + 2 < section.width ? 2 * column + 2 : section.width) {}

  // The place of its first largest number, in order of lines. NaN counts as the largest.
  BROADLOOM_HD int largest(const ResidualSection& section, const float* x, int filter) const {
    int found = (top * section.width + left) * section.filters + filter;
    float most = x[found];
    for (int y = top; y < bottom; ++y) {
      for (int column = left; column < right; ++column) {
        const int place = (y * section.width + column) * section.filters + filter;
        const bool is_larger = x[place] > most || x[place] != x[place];
        if (most != most || !is_larger) continue;
        found = place;
        most = x[place];
      }
    }
    return found;
  }
};

// Calls finish(offset in the results, largest number) for all windows of `rows` images at x.
template <class Team, class Finish>
BROADLOOM_HD void pool(const Team& team, const ResidualSection& section, const float* x, int rows,
                       Finish&& finish) {
  const int filters = section.filters, across = section.pooled_width();
  const int per_row = section.pooled_height() * across * filters;
  for (int e = team.thread(); e < rows * per_row; e += team.threads()) {
    const int row = e / per_row, number = e % per_row, pixel = number / filters;
    const float* const image = x + row * section.wide_row();
    const PoolWindow window(section, pixel / across, pixel % across);
    finish(row * section.row() + number, image[window.largest(section, image, number % filters)]);
  }
}

// The derivative of x from that of the results. Each number adds up the windows of which it is the
// largest, in the host's order.
template <class Team>
BROADLOOM_HD void pool_back(const Team& team, const ResidualSection& section, const float* x,
                            const float* delta, int rows, float* below) {
  const int filters = section.filters, width = section.width;
  const int down = section.pooled_height(), across = section.pooled_width();
  const int per_row = section.height * width * filters;
  for (int e = team.thread(); e < rows * per_row; e += team.threads()) {
    const int row = e / per_row, number = e % per_row, filter = number % filters;
    const int line = number / filters / width, column = number / filters % width;
    const float* const image = x + row * section.wide_row();
    const float* const deltas = delta + row * section.row();
    float sum = 0.0f;
    for (int y = line / 2; y <= (line + 1) / 2 && y < down; ++y) {
      for (int z = column / 2; z <= (column + 1) / 2 && z < across; ++z) {
        if (PoolWindow(section, y, z).largest(section, image, filter) != number) continue;
        sum += deltas[(y * across + z) * filters + filter];
      }
    }
    below[row * section.wide_row() + number] = sum;
  }
}

}  // namespace broadloom::cuda
