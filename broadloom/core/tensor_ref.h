// A named view of an array: how owners of state hand it to the code that saves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

enum class Dtype { kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64 };

inline std::size_t dtype_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
    case Dtype::kI8:
    case Dtype::kU8:
      return 1;
    case Dtype::kI16:
    case Dtype::kU16:
      return 2;
    case Dtype::kI32:
    case Dtype::kU32:
    case Dtype::kF32:
      return 4;
    case Dtype::kI64:
    case Dtype::kU64:
    case Dtype::kF64:
      return 8;
  }
  return 0;
}

// The Dtype of a number type, by kind and size: `long` and `long long` have the same.
template <class T>
constexpr Dtype dtype_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "saved state is numbers of at most 8 bytes, or std::arrays of them; arrays of "
                "arrays are not allowed");
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, bool>) return Dtype::kBool;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Dtype::kF32 : Dtype::kF64;
  if constexpr (sizeof(T) == 1) return is_signed ? Dtype::kI8 : Dtype::kU8;
  if constexpr (sizeof(T) == 2) return is_signed ? Dtype::kI16 : Dtype::kU16;
  if constexpr (sizeof(T) == 4) return is_signed ? Dtype::kI32 : Dtype::kU32;
  return is_signed ? Dtype::kI64 : Dtype::kU64;
}

// The values that numbers of a tensor may have where they are read back. Both ends are included,
// and NaN is in no range. Whatever indexes an array, is counted or is a case of few has one.
struct ValueRange {
  double low = -std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::max();
  // The range is for numbers of type `dtype` that are `offset` bytes into each `stride` bytes. 0:
  // all numbers of the tensor.
  std::size_t stride = 0, offset = 0;
  Dtype dtype = Dtype::kF32;
  // The range is for `bits` bits of an integer, from `first_bit` on. 0: the whole integer.
  int first_bit = 0, bits = 0;
};

// A number that is not infinite and not NaN.
inline constexpr ValueRange kFiniteRange{};
// A number of steps, episodes or samples. A double holds each exactly; none grows past it in a run.
inline constexpr double kMostCounted = 9007199254740992.0;
inline constexpr ValueRange kCountRange{0.0, kMostCounted};
// For what may have any value at all; NaN where the numbers are integers or bytes.
inline constexpr ValueRange kAnyRange{-std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::infinity()};

// The range of one column of rows that have `columns` numbers of a type.
inline ValueRange in_column(std::size_t column, std::size_t columns, Dtype dtype, double low,
                            double high) {
  return {low, high, columns * dtype_size(dtype), column * dtype_size(dtype), dtype};
}

// Owners of state list it as mutable views: append_state("prefix", out) adds tensors named
// "prefix.field". The views stay valid until the owner moves or resizes.
struct TensorRef {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;  // row-major
  void* data = nullptr;
  // Values are checked against these when read back. Empty: all values are valid.
  std::vector<ValueRange> ranges = {};

  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<std::size_t>(extent);
    return product;
  }
  std::size_t bytes() const { return count() * dtype_size(dtype); }
};

// Whether numbers of the tensor's type and shape are within its ranges, wherever they stand: ok, or
// kCorrupt, "tensor 'envs.state0': got 99 at [2], expected 0 to 15".
Status check_values(const TensorRef& tensor, const void* numbers);

}  // namespace broadloom
