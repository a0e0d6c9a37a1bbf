// A named view of an array: how owners of state hand it to the code that saves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

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
                "what is saved are numbers of at most 8 bytes");
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, bool>) return Dtype::kBool;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Dtype::kF32 : Dtype::kF64;
  if constexpr (sizeof(T) == 1) return is_signed ? Dtype::kI8 : Dtype::kU8;
  if constexpr (sizeof(T) == 2) return is_signed ? Dtype::kI16 : Dtype::kU16;
  if constexpr (sizeof(T) == 4) return is_signed ? Dtype::kI32 : Dtype::kU32;
  return is_signed ? Dtype::kI64 : Dtype::kU64;
}

// Owners of state list it as mutable views: append_state("prefix", out) adds tensors named
// "prefix.field". The views stay valid until the owner moves or resizes.
struct TensorRef {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;  // row-major
  void* data = nullptr;

  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<std::size_t>(extent);
    return product;
  }
  std::size_t bytes() const { return count() * dtype_size(dtype); }
};

}  // namespace broadloom
