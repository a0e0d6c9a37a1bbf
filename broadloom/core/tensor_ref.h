// A named view of an array: the one currency between what has state and what saves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {

enum class Dtype { kU8, kI32, kI64, kU64, kF32, kF64 };

inline std::size_t dtype_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return 1;
    case Dtype::kI32:
    case Dtype::kF32:
      return 4;
    case Dtype::kI64:
    case Dtype::kU64:
    case Dtype::kF64:
      return 8;
  }
  return 0;
}

// Whatever has state to save lists it as mutable views: append_state("prefix", out) adds tensors
// named "prefix.field". The views stay valid as long as their owner is neither moved nor resized.
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
