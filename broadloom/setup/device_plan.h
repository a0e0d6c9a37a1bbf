// CPU memory that training on a GPU (train/device.h) needs.
#pragma once

#include <cstddef>

#include "broadloom/setup/run_sizes.h"

namespace broadloom {

// The bytes of MemoryPlan::passing; 0 when training on the CPU.
std::size_t passing_bytes(const RunSizes& run, VecEnv& envs, int ranks);

}  // namespace broadloom
