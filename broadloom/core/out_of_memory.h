// The advice for a lack of memory.
#pragma once

namespace broadloom {

inline constexpr char kOutOfMemory[] =
    "out of memory; end other programs, raise the limit (ulimit -v), use fewer --threads, --jobs "
    "or environments";

}  // namespace broadloom
