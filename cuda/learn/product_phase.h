// A dense layer over all rows at once, as a launch that spreads over the whole device. It is a
// phase like those of delta_phases.h, with the bits of linear_forward() and its backward pass.
#pragma once

#include <cstddef>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// Dense layer l: forward y = finish(x w), or backward to the delta of the layer below. A block
// computes kRows x kColumns of y, while the next numbers of the depth are copied to shared memory.
// Each working thread computes kEach rows of four.
template <class Sums, int kRows, int kEach>
struct ProductPhase {
  static constexpr int kThreads = 256, kColumns = 32;
  static constexpr int kDepth = kRows > 32 ? 32 : kRows == 32 ? 64 : 128;  // depth per turn
  GradientWork<Sums> work;
  int l;
  bool goes_back;

  static KernelShape shape(const DeviceNetwork& network, int rows, int columns) {
    return {network.sides() * tiles(rows, columns), kThreads, 2 * sizeof(float) * kFloats};
  }
  BROADLOOM_HD static int tiles(int rows, int columns) {
    return (rows + kRows - 1) / kRows * ((columns + kColumns - 1) / kColumns);
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int side = block.index() % work.network.sides(),
              tile = block.index() / work.network.sides();
    const DeviceBody& body = work.network.body(side);
    if (l >= body.layers) return;
    const Product product(*this, body, side);
    const int across = (product.columns + kColumns - 1) / kColumns;
    if (tile >= tiles(work.rows.all(), product.columns)) return;  // the other side is wider
    run(block, product, tile / across * kRows, tile % across * kColumns);
  }

 private:
  static constexpr int kApart = kRows / kEach;  // distance between two rows of a thread
  static constexpr int kRow = kDepth + 4;       // padding against bank conflicts of rows
  static constexpr int kFloats = kRows * kRow + kDepth * kColumns;
  static constexpr int kXs = kRows * kDepth / 4 / kThreads, kWs = kDepth * kColumns / 4 / kThreads;

  struct Product {
    const float *x, *w, *bias, *below;  // bias: null when going back to the delta of `below`
    float* y;
    int depth, columns, x_row, y_row;
    bool fours;  // whether rows of w can be read four at a time
    Finish finish;

    BROADLOOM_HD Product(const ProductPhase& phase, const DeviceBody& body, int side)
        : finish{phase.work.network.activation, body.norms[phase.l].is_there()} {
      const DeviceLayer& layer = body.hidden[phase.l];
      const int l = phase.l;
      const TilePlaces& places = phase.work.places[side];
      float* const arrays = phase.work.of_side(side);
      const float* const inputs = arrays + (l > 0 ? places.hidden[l - 1] : places.inputs);
      if (phase.goes_back) {
        x = arrays + (finish.is_open ? places.before[l] : places.delta[l]);
        w = phase.work.transposed + layer.weight;
        bias = nullptr;
        below = inputs;
        y = arrays + (l > 0 ? places.delta[l - 1] : places.inputs_delta);
      } else {
        x = inputs;
        w = phase.work.params + layer.weight;
        bias = phase.work.params + layer.bias;
        below = nullptr;
        y = arrays + places.linear[l];
      }
      depth = phase.goes_back ? layer.out : layer.in;
      columns = phase.goes_back ? layer.in : layer.out;
      x_row = TilePlaces::row(depth);
      y_row = TilePlaces::row(columns);
      fours = columns % 4 == 0 && holds_fours(w);
    }

    // Four numbers of x [row, depth from i on], or of w [i, columns from c on]. Missing numbers are
    // 0, and either meet no product or are not stored.
    BROADLOOM_HD Four read_x(int row, int rows, int i) const {
      if (row >= rows || i >= x_row) return {};
      return load_four(x + static_cast<std::size_t>(row) * x_row + i);
    }
    BROADLOOM_HD Four read_w(int i, int c) const {
      if (i >= depth) return {};
      const float* const source = w + static_cast<std::size_t>(i) * columns + c;
      if (fours && c < columns) return load_four(source);
      Four made{};
      for (int k = 0; k < 4 && c + k < columns; ++k) made.values[k] = source[k];
      return made;
    }
  };

  template <class Block>
  BROADLOOM_HD void run(Block& block, const Product& product, int first_row, int first_c) const {
    float* const shared = block.template shared<float>();
    const int rows = work.rows.all(), lane = block.thread() % 8, own = block.thread() / 8;
    const int c = first_c + 4 * lane;
    float sums[kEach][4];
    for (int k = 0; k < kEach; ++k) {
      for (int j = 0; j < 4; ++j) {
        const bool is_biased = product.bias != nullptr && c + j < product.columns;
        sums[k][j] = is_biased ? product.bias[c + j] : 0.0f;
      }
    }
    Four next_x[kXs], next_w[kWs];
    const auto fetch = [&](int i) {
      for (int k = 0; k < kXs; ++k) {
        const int e = block.thread() + k * kThreads;
        next_x[k] = product.read_x(first_row + e / (kDepth / 4), rows, i + e % (kDepth / 4) * 4);
      }
      for (int k = 0; k < kWs; ++k) {
        const int e = block.thread() + k * kThreads;
        next_w[k] = product.read_w(i + e / (kColumns / 4), first_c + e % (kColumns / 4) * 4);
      }
    };
    fetch(0);
    for (int i = 0, turn = 0; i < product.depth; i += kDepth, turn ^= 1) {
      float* const x = shared + turn * kFloats;
      float* const w = x + kRows * kRow;
      for (int k = 0; k < kXs; ++k) {
        const int e = block.thread() + k * kThreads;
        store_four(next_x[k], x + e / (kDepth / 4) * kRow + e % (kDepth / 4) * 4);
      }
      for (int k = 0; k < kWs; ++k) store_four(next_w[k], w + 4 * (block.thread() + k * kThreads));
      block.sync();  // after it, no thread works on the other turn's data
      fetch(i + kDepth);
      if (own >= kApart) continue;
      const int left = product.depth - i;
      add(x + own * kRow, w + 4 * lane, left < kDepth ? left : kDepth, sums);
    }
    if (own < kApart) keep(product, sums, first_row + own, rows, c);
  }

  // x: this thread's first row; its further rows are kApart apart.
  BROADLOOM_HD static void add(const float* x, const float* w, int depth, float (&sums)[kEach][4]) {
    const float* inputs[kEach];
    for (int k = 0; k < kEach; ++k) inputs[k] = x + kApart * k * kRow;
    const int whole = depth / 4 * 4;
    add_run<4>(inputs, w, kColumns, whole, sums);
    for (int i = whole; i < depth; ++i) {
      for (int k = 0; k < kEach; ++k) {
        for (int j = 0; j < 4; ++j) {
          sums[k][j] = element::mul_add(inputs[k][i], w[i * kColumns + j], sums[k][j]);
        }
      }
    }
  }

  BROADLOOM_HD void keep(const Product& product, float (&sums)[kEach][4], int row, int rows,
                         int c) const {
    if (product.below == nullptr) product.finish(sums);
    for (int k = 0; k < kEach; ++k) {
      const int r = row + kApart * k;
      if (r >= rows || c >= product.columns) continue;
      const std::size_t offset = static_cast<std::size_t>(r) * product.y_row + c;
      Four made{{sums[k][0], sums[k][1], sums[k][2], sums[k][3]}};
      if (product.below != nullptr) {
        made = derivatives(product.finish.activation, load_four(product.below + offset), sums[k]);
      }
      store_four(made, product.y + offset);  // places beyond the columns are not read
    }
  }
};

}  // namespace broadloom::cuda
