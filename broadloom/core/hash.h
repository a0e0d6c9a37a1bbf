// Content hashes: xxHash's XXH3 of bytes, the same on every little-endian machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom {

std::uint64_t hash64(std::string_view bytes);

// 32 hexadecimal digits (XXH3, 128 bits).
std::string hash_text(std::string_view bytes);

}  // namespace broadloom
