// Where observations of an environment are written to: rows of float32 or of uint8, as its spec
// says.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// A pointer that knows which of the two it points to; made from either, so that who has float rows
// hands over a float*.
class ObservationRows {
 public:
  ObservationRows() = default;  // none: they are not asked for
  ObservationRows(std::nullptr_t) {}
  ObservationRows(float* rows) : rows_(rows) {}
  ObservationRows(std::uint8_t* rows) : rows_(rows), dtype_(Dtype::kU8) {}

  explicit operator bool() const { return rows_ != nullptr; }
  Dtype dtype() const { return dtype_; }
  float* floats() const { return as<float>(); }
  std::uint8_t* bytes() const { return as<std::uint8_t>(); }
  // Number: float or std::uint8_t, the one that they are of.
  template <class Number>
  Number* as() const {
    static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, std::uint8_t>);
    assert(rows_ == nullptr || dtype_ == dtype_of<Number>());
    return static_cast<Number*>(rows_);
  }
  // Those that begin so many numbers later.
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
