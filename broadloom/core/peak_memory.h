// What this process has taken of the machine.
#pragma once

#include <cstdint>

namespace broadloom {

// The most memory that this process has held at once so far, in bytes; 0: not known.
std::int64_t peak_memory();

}  // namespace broadloom
