// Marks floats of output rows before a simulator writes them.
#pragma once

#include <bit>
#include <cstdint>

namespace broadloom {

inline constexpr std::uint32_t kUnwrittenBits = 0x7fc5a5a5;  // a NaN that no arithmetic gives

inline float unwritten_number() { return std::bit_cast<float>(kUnwrittenBits); }
inline bool is_unwritten(float number) {
  return std::bit_cast<std::uint32_t>(number) == kUnwrittenBits;
}

}  // namespace broadloom
