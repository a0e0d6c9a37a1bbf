// NumPy's files: arrays as .npy in a ZIP archive, stored without compression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct NpyArray {
  std::string name;   // of the array; ASCII
  std::string dtype;  // as NumPy writes it: "<f4", "<f8", "<i8", "|u1"
  std::vector<int> shape;
  std::string bytes;  // row-major, little endian
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// The same arrays give the same bytes. kIo where it would be larger than the 2 GiB that readers of
// plain ZIP archives take.
Result<std::string> npz_file(const std::vector<NpyArray>& arrays);

// Of ZIP, PNG and zlib (ISO 3309).
std::uint32_t crc32(std::string_view bytes);

}  // namespace broadloom
