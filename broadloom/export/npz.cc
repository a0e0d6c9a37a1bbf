#include "broadloom/export/npz.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace broadloom {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// Version 1.0 of the format (numpy/lib/format.py): the header ends at a multiple of 64 bytes.
std::string npy_file(const NpyArray& array) {
  std::string shape = fmt::format("{}", fmt::join(array.shape, ", "));
  if (array.shape.size() == 1) shape += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.dtype, shape);
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, header.size(), 2);
  return out + header + array.bytes;
}

// Fields shared by a member's local header and directory entry, from the needed version to the
// length of the name (APPNOTE.TXT 4.3.7 and 4.3.12).
std::string member_fields(const std::string& name, const std::string& data) {
  constexpr int kVersion = 20, kStored = 0, kMidnight = 0, kFirstOf1980 = 0x21;
  std::string out;
  put(out, kVersion, 2);
  put(out, 0, 2);
  put(out, kStored, 2);
  put(out, kMidnight, 2);
  put(out, kFirstOf1980, 2);
  put(out, crc32(data), 4);
  put(out, data.size(), 4);
  put(out, data.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2);
  return out;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t remainder = i;
      for (int bit = 0; bit < 8; ++bit) {
        remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320u : 0u);
      }
      table[i] = remainder;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

Result<std::string> npz_file(const std::vector<NpyArray>& arrays) {
  std::string out, directory;
  for (const NpyArray& array : arrays) {
    const std::string name = array.name + ".npy", data = npy_file(array);
    if (out.size() + data.size() > std::numeric_limits<std::int32_t>::max()) {
      return Status{ErrorKind::kIo,
                    "the policy is larger than the 2 GiB of a plain .npz file; export it as torch"};
    }
    const std::string fields = member_fields(name, data);
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    directory += fields;
    directory.append(10, '\0');  // comment, disk, attributes
    put(directory, out.size(), 4);
    directory += name;
    put(out, 0x04034b50, 4);
    out += fields + name + data;
  }
  const std::size_t begin = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, arrays.size(), 2);
  put(out, arrays.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace broadloom
