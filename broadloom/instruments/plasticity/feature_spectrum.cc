#include "broadloom/instruments/plasticity/feature_spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "broadloom/math/linear.h"
#include "broadloom/math/symmetric_eigenvalues.h"

namespace broadloom {
namespace {

// Columns of a panel.
constexpr int kWidth = 64;

std::size_t panels_of(int columns) {
  return static_cast<std::size_t>((columns + kWidth - 1) / kWidth);
}

// The pair of panels (p, q), q <= p, of a task: 0 0, 1 0, 1 1, 2 0, ...
std::pair<std::size_t, std::size_t> pair_of(int task) {
  std::size_t p = 0, left = static_cast<std::size_t>(task);
  while (left > p) left -= ++p;
  return {p, left};
}

}  // namespace

FeatureSpectrum::FeatureSpectrum(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      panels_(panels_of(columns)),
      features_(static_cast<std::size_t>(rows) * columns),
      gram_(static_cast<std::size_t>(columns) * columns),
      values_(columns),
      scratch_(eigenvalues_scratch(columns)) {}

std::size_t FeatureSpectrum::bytes(int rows, int columns) {
  const std::size_t n = static_cast<std::size_t>(columns);
  return (static_cast<std::size_t>(rows) * n + n * n + n + eigenvalues_scratch(columns)) *
         sizeof(double);
}

int FeatureSpectrum::width(std::size_t panel) const {
  return std::min(kWidth, columns_ - static_cast<int>(panel) * kWidth);
}

double* FeatureSpectrum::panel(std::size_t p) {
  return features_.data() + p * kWidth * static_cast<std::size_t>(rows_);
}

void FeatureSpectrum::set_rows(std::size_t first, int count, const float* features) {
  for (std::size_t p = 0; p < panels_; ++p) {
    const std::size_t wide = static_cast<std::size_t>(width(p));
    for (int r = 0; r < count; ++r) {
      const float* source = features + static_cast<std::size_t>(r) * columns_ + p * kWidth;
      std::copy_n(source, wide, panel(p) + (first + r) * wide);
    }
  }
}

// The block for panels p and q equals the weight gradient of a layer with inputs p and deltas q.
void FeatureSpectrum::multiply(int task) {
  const auto [p, q] = pair_of(task);
  std::array<double, std::size_t{kWidth} * kWidth> block{};
  std::array<double, kWidth> unused{};  // receives the bias gradient
  linear_backward_weights(panel(p), panel(q), block.data(), unused.data(), rows_, width(p),
                          width(q));
  const std::size_t n = static_cast<std::size_t>(columns_);
  const std::size_t rows = static_cast<std::size_t>(width(p));
  const std::size_t columns = static_cast<std::size_t>(width(q));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      gram_[(p * kWidth + i) * n + q * kWidth + j] = block[i * columns + j];
      gram_[(q * kWidth + j) * n + p * kWidth + i] = block[i * columns + j];
    }
  }
}

void FeatureSpectrum::solve() {
  symmetric_eigenvalues(gram_.data(), columns_, values_.data(), scratch_.data());
  for (double& value : values_) value = std::sqrt(std::max(value, 0.0));
}

}  // namespace broadloom
