// Output rows for observations: float32 or uint8, as EnvSpec declares.
//
//   void MySimulator::observe(int begin, int end, ObservationRows rows) const {
//     for (int env = begin; env < end; ++env) {
//       std::copy_n(&seen_[env * D], D, rows.floats() + (env - begin) * D);
//     }
//   }
//
// Rows are contiguous. Row k belongs to environment begin + k.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// A pointer to float32 or uint8 numbers that knows its type. float* and std::uint8_t* convert to
// it.
class ObservationRows {
 public:
  ObservationRows() = default;  // no rows: the caller does not want them
  // No rows, as above.
  ObservationRows(std::nullptr_t) {}
  // float32. The rows must outlive it.
  ObservationRows(float* rows) : rows_(rows) {}
  // uint8. The rows must outlive it.
  ObservationRows(std::uint8_t* rows) : rows_(rows), dtype_(Dtype::kU8) {}

  explicit operator bool() const { return rows_ != nullptr; }
  // kF32 or kU8.
  Dtype dtype() const { return dtype_; }
  // Pointer to the first number of float32 rows. Null if there are no rows.
  float* floats() const { return as<float>(); }
  // Pointer to the first number of uint8 rows. Null if there are no rows.
  std::uint8_t* bytes() const { return as<std::uint8_t>(); }
  // The same with the type as a parameter. Number must match dtype(): float or std::uint8_t.
  template <class Number>
  Number* as() const {
    static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, std::uint8_t>);
    assert(rows_ == nullptr || dtype_ == dtype_of<Number>());
    return static_cast<Number*>(rows_);
  }
  // The rows that start `numbers` elements later.
  ObservationRows offset_by(std::size_t numbers) const {
    if (rows_ == nullptr) return {};
    if (dtype_ == Dtype::kU8) return static_cast<std::uint8_t*>(rows_) + numbers;
    return static_cast<float*>(rows_) + numbers;
  }
  // Copies the first `numbers` elements to rows of the same dtype.
  void copy_to(ObservationRows target, std::size_t numbers) const {
    assert(target.dtype_ == dtype_);
    std::memcpy(target.rows_, rows_, numbers * dtype_size(dtype_));
  }

 private:
  void* rows_ = nullptr;
  Dtype dtype_ = Dtype::kF32;
};

}  // namespace broadloom
