#include "broadloom/record/events.h"

#include <array>
#include <bit>

namespace broadloom {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class T>
void put_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// Protocol-buffer fields: tag = number << 3 | wire type (0 varint, 1 eight bytes, 2 bytes, 5 four
// bytes).
void put_double(std::string& out, int field, double value) {
  out.push_back(static_cast<char>(field << 3 | 1));
  put_little_endian(out, std::bit_cast<std::uint64_t>(value));
}
void put_float(std::string& out, int field, float value) {
  out.push_back(static_cast<char>(field << 3 | 5));
  put_little_endian(out, std::bit_cast<std::uint32_t>(value));
}
void put_bytes(std::string& out, int field, std::string_view value) {
  out.push_back(static_cast<char>(field << 3 | 2));
  put_varint(out, value.size());
  out += value;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string frame(std::string_view payload) {
  std::string out;
  put_little_endian(out, static_cast<std::uint64_t>(payload.size()));
  put_little_endian(out, masked(crc32c(out)));
  out += payload;
  put_little_endian(out, masked(crc32c(payload)));
  return out;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes)
    crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::string encode_file_version(double wall_time) {
  std::string event;
  put_double(event, 1, wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return frame(event);
}

std::string encode_scalars(double wall_time, std::int64_t step,
                           const std::vector<std::pair<std::string_view, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, 1, tag);
    put_float(value, 2, static_cast<float>(number));
    put_bytes(summary, 1, value);
  }
  std::string event;
  put_double(event, 1, wall_time);
  event.push_back(2 << 3);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return frame(event);
}

}  // namespace broadloom
