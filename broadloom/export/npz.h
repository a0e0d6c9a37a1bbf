// NumPy's files: .npy arrays in a ZIP archive without compression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct NpyArray {
  std::string name;   // of the array; ASCII
  std::string dtype;  // in NumPy's notation: "<f4", "<f8", "<i8", "|u1"
  std::vector<int> shape;
  std::string bytes;  // row-major, little endian
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// Equal arrays give equal bytes. kIo if the file would exceed 2 GiB, the limit of plain ZIP
// readers.
Result<std::string> npz_file(const std::vector<NpyArray>& arrays);

// The checksum of ZIP, PNG and zlib (ISO 3309).
std::uint32_t crc32(std::string_view bytes);

}  // namespace broadloom
