// Records of a TensorBoard event file. See docs/formats/events.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace broadloom {

// CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(std::string_view bytes);

// The first record of a file, with framing and checksums.
std::string encode_file_version(double wall_time);
// A record of one step's scalars. wall_time: seconds since 1970.
std::string encode_scalars(double wall_time, std::int64_t step,
                           const std::vector<std::pair<std::string_view, double>>& scalars);

}  // namespace broadloom
