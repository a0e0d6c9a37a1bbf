#include <cstring>

#include "broadloom/record/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

long g_accepted = 0;

std::string file(std::string header, std::size_t data) {
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data, 'x');
}

}  // namespace

// Without checksums, which would stop nearly every altered input at the door.
std::vector<std::string> fuzz_seeds() {
  return {file(R"({})", 0), file(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
          file(R"({"__metadata__":{"a":"b"},"x":{"dtype":"U8","shape":[1,3],"data_offsets":[0,3]},)"
               R"("y":{"dtype":"I64","shape":[],"data_offsets":[3,11]}})",
               11),
          file(R"({"__metadata__":{"checksum":"0123456789abcdef"}})", 0)};
}

long fuzz_accepted() { return g_accepted; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      broadloom::parse_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!file.ok()) return 0;
  ++g_accepted;
  // An accepted file must be safe to read to its last byte.
  std::vector<double> place(2);
  broadloom::Status ignored =
      broadloom::load_into(file.value(), {{"t", broadloom::Dtype::kF32, {2}, place.data()}});
  static_cast<void>(ignored);
  unsigned sum = 0;
  for (const auto& [name, entry] : file.value().tensors) {
    for (std::size_t i = entry.begin; i < entry.end; ++i)
      sum += static_cast<unsigned char>(file.value().data[i]);
  }
  return sum == 0xffffffffu ? 1 : 0;
}
