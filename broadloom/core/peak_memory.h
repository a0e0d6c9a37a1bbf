// Memory use of this process.
#pragma once

#include <cstdint>

namespace broadloom {

// Peak resident memory of this process so far, in bytes; 0 if unknown.
std::int64_t peak_memory();

}  // namespace broadloom
