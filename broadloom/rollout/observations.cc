#include "broadloom/rollout/observations.h"

#include <algorithm>
#include <cassert>

namespace broadloom {

void Observations::reserve(std::size_t rows) {
  if (type_.dtype == Dtype::kF32) {
    floats_.reserve(rows * width());
  } else {
    bytes_.reserve(rows * width());
  }
}

void Observations::resize(std::size_t rows) {
  rows_ = rows;
  if (type_.dtype == Dtype::kF32) {
    floats_.resize(size());
  } else {
    bytes_.resize(size());
  }
}

ObservationRows Observations::rows(std::size_t first) {
  if (empty()) return {};
  if (type_.dtype == Dtype::kF32) return floats_.data() + first * width();
  return bytes_.data() + first * width();
}

void Observations::write(std::size_t first, const Observations& from, std::size_t from_row,
                         std::size_t count) {
  assert(type_ == from.type_);
  const std::size_t numbers = count * width(), to = first * width(), at = from_row * width();
  if (type_.dtype == Dtype::kF32) {
    std::copy_n(from.floats_.data() + at, numbers, floats_.data() + to);
  } else {
    std::copy_n(from.bytes_.data() + at, numbers, bytes_.data() + to);
  }
}

std::span<const std::byte> Observations::row_bytes(std::size_t row) const {
  return visit([&](const auto* numbers) {
    return std::as_bytes(std::span(numbers + row * width(), width()));
  });
}

// A division, as of those who train on x / 255: a product with 1 / 255 has other bits. Planes of 0
// and 1 need none.
void Observations::read_bytes(std::size_t first, std::size_t count, float* out) const {
  const std::uint8_t* from = bytes_.data() + first * width();
  const std::size_t numbers = count * width();
  const float full_scale = type_.full_scale;
  if (full_scale == 1.0f) {
    for (std::size_t i = 0; i < numbers; ++i) out[i] = static_cast<float>(from[i]);
    return;
  }
  for (std::size_t i = 0; i < numbers; ++i) out[i] = static_cast<float>(from[i]) / full_scale;
}

}  // namespace broadloom
