// Rows that observations are written to: float32 or uint8, as EnvSpec says.
//
//   void MySimulator::observe(int begin, int end, ObservationRows rows) const {
//     for (int env = begin; env < end; ++env) {
//       std::copy_n(&seen_[env * D], D, rows.floats() + (env - begin) * D);
//     }
//   }
//
// Rows follow each other without gaps: row k is of environment begin + k.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// A pointer that knows which of the two it points to. A float* or a std::uint8_t* becomes one.
class ObservationRows {
 public:
  ObservationRows() = default;  // none: they are not asked for
  // Likewise.
  ObservationRows(std::nullptr_t) {}
  // float32. The rows must outlive it.
  ObservationRows(float* rows) : rows_(rows) {}
  // uint8. The rows must outlive it.
  ObservationRows(std::uint8_t* rows) : rows_(rows), dtype_(Dtype::kU8) {}

  // Whether there are rows.
  explicit operator bool() const { return rows_ != nullptr; }
  // kF32 or kU8.
  Dtype dtype() const { return dtype_; }
  // The first number; of rows that are float32. Null where there are no rows.
  float* floats() const { return as<float>(); }
  // The first number; of rows that are uint8. Null where there are no rows.
  std::uint8_t* bytes() const { return as<std::uint8_t>(); }
  // The same by type: Number is float or std::uint8_t, as the rows are.
  template <class Number>
  Number* as() const {
    static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, std::uint8_t>);
    assert(rows_ == nullptr || dtype_ == dtype_of<Number>());
    return static_cast<Number*>(rows_);
  }
  // The rows that begin so many numbers later.
  ObservationRows from(std::size_t numbers) const {
    if (rows_ == nullptr) return {};
    if (dtype_ == Dtype::kU8) return static_cast<std::uint8_t*>(rows_) + numbers;
    return static_cast<float*>(rows_) + numbers;
  }
  // The first so many numbers, to rows of the same dtype.
  void copy_to(ObservationRows to, std::size_t numbers) const {
    assert(to.dtype_ == dtype_);
    std::memcpy(to.rows_, rows_, numbers * dtype_size(dtype_));
  }

 private:
  void* rows_ = nullptr;
  Dtype dtype_ = Dtype::kF32;
};

}  // namespace broadloom
