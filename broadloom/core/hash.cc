#define XXH_INLINE_ALL
#include "broadloom/core/hash.h"

#include <fmt/core.h>
#include <xxhash.h>

namespace broadloom {

std::uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_text(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace broadloom
