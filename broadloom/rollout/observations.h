// Observations as they are stored, row after row: float32, or uint8 where an environment's pixels
// are. Nobody else knows which of the two it is, nor how a row becomes the floats that a network
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/env/observation_rows.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// What a row is.
struct ObservationType {
  int size = 0;  // numbers
  Dtype dtype = Dtype::kF32;
  float full_scale = 255.0f;  // what networks read uint8 divided by

  std::size_t row_bytes() const { return static_cast<std::size_t>(size) * dtype_size(dtype); }
  bool operator==(const ObservationType&) const = default;
};

inline ObservationType observation_type(const Space& space) {
  return {space.size, space.dtype, space.full_scale()};
}

class Observations {
 public:
  Observations() = default;
  Observations(ObservationType type, std::size_t rows) : type_(type) { resize(rows); }

  // Fewer rows than there have been take no other memory.
  void resize(std::size_t rows);
  // Memory for so many rows.
  void reserve(std::size_t rows);

  bool operator==(const Observations&) const = default;
  const ObservationType& type() const { return type_; }
  bool empty() const { return rows_ == 0 || type_.size == 0; }
  std::size_t size() const { return rows_ * width(); }  // numbers

  // To be written into, from row `first` on.
  ObservationRows rows(std::size_t first = 0);
  // Takes over `count` rows of another one of the same type.
  void write(std::size_t first, const Observations& from, std::size_t from_row, std::size_t count);

  // As networks read them: float32 as they are, uint8 divided by full_scale. out: [count, size].
  void read(std::size_t first, std::size_t count, float* out) const {
    if (type_.dtype != Dtype::kF32) return read_bytes(first, count, out);
    const float* from = floats_.data() + first * width();
    const std::size_t numbers = count * width();
    // Rows are short: a plain loop beats a call of memcpy.
    for (std::size_t i = 0; i < numbers; ++i) out[i] = from[i];
  }
  // The same without a copy where they are stored so; else in scratch [count, size].
  const float* view(std::size_t first, std::size_t count, float* scratch) const {
    if (type_.dtype == Dtype::kF32) return floats_.data() + first * width();
    read_bytes(first, count, scratch);
    return scratch;
  }

  // f(const Number*) on all that is stored.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (type_.dtype == Dtype::kF32) return f(floats_.data());
    return f(bytes_.data());
  }
  // A row as it is stored, for who compares and hashes.
  std::span<const std::byte> row_bytes(std::size_t row) const;
  // float32 rows, which are stored as they are. Empty where rows are uint8.
  std::span<float> floats() { return floats_; }
  std::span<const float> floats() const { return floats_; }

 private:
  std::size_t width() const { return static_cast<std::size_t>(type_.size); }
  void read_bytes(std::size_t first, std::size_t count, float* out) const;

  ObservationType type_;
  std::size_t rows_ = 0;
  AlignedVector<float> floats_;        // [rows, size] or empty
  AlignedVector<std::uint8_t> bytes_;  // [rows, size] or empty
};

}  // namespace broadloom
