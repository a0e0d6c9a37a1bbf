// Content hashes: xxHash's XXH3 of bytes, the same on every little-endian machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace broadloom {

std::uint64_t hash64(std::string_view bytes);
inline std::uint64_t hash64(std::span<const std::byte> bytes) {
  return hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// 32 hexadecimal digits (XXH3, 128 bits).
std::string hash_text(std::string_view bytes);

}  // namespace broadloom
