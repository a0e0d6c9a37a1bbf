#include "research/lab/gram.h"

#include <algorithm>

#include "broadloom/math/elementwise.h"
#include "broadloom/math/linear.h"

namespace broadloom {
namespace {

// Transposes rows [first, first + count) of [.., width] to [width, count].
template <class Real>
void columns_of(const std::vector<Real>& rows, int width, int first, int count,
                std::vector<Real>& out) {
  out.resize(static_cast<std::size_t>(width) * count);
  transpose(rows.data() + static_cast<std::size_t>(first) * width, out.data(), count, width);
}

// One ascending chain over a hundred thousand numbers would lose four digits.
constexpr int kLongestChain = 1024;

// Copies values [rows, columns] to a part of a matrix with `stride` columns.
void put_rows(const float* values, int rows, int columns, float* target, int stride) {
  for (int r = 0; r < rows; ++r) {
    std::copy_n(values + static_cast<std::size_t>(r) * columns, columns,
                target + static_cast<std::size_t>(r) * stride);
  }
}

}  // namespace

template <class Real>
void GramTiles<Real>::set_columns(const GradientFactors<Real>& factors, int first, int count) {
  factors_ = &factors;
  count_ = count;
  inputs_.resize(factors.layers.size());
  deltas_.resize(factors.layers.size());
  for (std::size_t l = 0; l < factors.layers.size(); ++l) {
    const auto& layer = factors.layers[l];
    columns_of(layer.inputs, layer.slice.in, first, count, inputs_[l]);
    columns_of(layer.deltas, layer.slice.out, first, count, deltas_[l]);
  }
  if (factors.extra_size > 0) {
    columns_of(factors.extras, factors.extra_size, first, count, extras_);
    part_.resize(static_cast<std::size_t>(kTileRows) * std::min(factors.extra_size, kLongestChain));
  }
  ones_.assign(static_cast<std::size_t>(count), Real(1));
  products_.resize(static_cast<std::size_t>(kTileRows) * count);
  delta_products_.resize(products_.size());
}

template <class Real>
void GramTiles<Real>::tile(int first, int rows, Real* out) {
  const std::size_t entries = static_cast<std::size_t>(rows) * count_;
  const auto product = [&](const std::vector<Real>& values, const std::vector<Real>& columns,
                           int width, const Real* bias, Real* target) {
    linear_forward(values.data() + static_cast<std::size_t>(first) * width, columns.data(), bias,
                   target, rows, width, count_);
  };
  const int extra = factors_->extra_size;
  if (extra > 0 && extra <= kLongestChain) {
    product(factors_->extras, extras_, extra, nullptr, out);
  } else {
    std::fill_n(out, entries, Real(0));
    for (int begin = 0; begin < extra; begin += kLongestChain) {
      const int width = std::min(kLongestChain, extra - begin);
      for (int r = 0; r < rows; ++r) {
        std::copy_n(&factors_->extras[static_cast<std::size_t>(first + r) * extra + begin], width,
                    &part_[static_cast<std::size_t>(r) * width]);
      }
      linear_forward(part_.data(), &extras_[static_cast<std::size_t>(begin) * count_],
                     static_cast<const Real*>(nullptr), products_.data(), rows, width, count_);
      add_into(out, products_.data(), entries);
    }
  }
  for (std::size_t l = 0; l < factors_->layers.size(); ++l) {
    const auto& layer = factors_->layers[l];
    // The ones, as a bias, are the 1 of (input . input + 1).
    product(layer.inputs, inputs_[l], layer.slice.in, ones_.data(), products_.data());
    product(layer.deltas, deltas_[l], layer.slice.out, nullptr, delta_products_.data());
    add_products(out, products_.data(), delta_products_.data(), entries);
  }
}

template class GramTiles<float>;
template class GramTiles<double>;

void gram_matrix(const GradientFactors<float>& factors, ThreadPool& pool, float* gram) {
  const int n = factors.rows;
  const int tiles = (n + kTileRows - 1) / kTileRows;
  std::vector<GramTiles<float>> engines(static_cast<std::size_t>(pool.threads()));
  // One task per tile of columns. Long columns come first, so that threads end together.
  pool.run(tiles, [&](int task, int thread) {
    const int j = tiles - 1 - task;
    const int begin = j * kTileRows, columns = std::min(kTileRows, n - begin);
    GramTiles<float>& engine = engines[thread];
    engine.set_columns(factors, begin, columns);
    std::vector<float> tile(static_cast<std::size_t>(kTileRows) * kTileRows), mirror(tile.size());
    for (int i = 0; i <= j; ++i) {
      const int top = i * kTileRows, rows = std::min(kTileRows, n - top);
      engine.tile(top, rows, tile.data());
      put_rows(tile.data(), rows, columns, gram + static_cast<std::size_t>(top) * n + begin, n);
      transpose(tile.data(), mirror.data(), rows, columns);
      put_rows(mirror.data(), columns, rows, gram + static_cast<std::size_t>(begin) * n + top, n);
    }
  });
}

}  // namespace broadloom
