// What a device that trains (train/device.h) costs the host's memory.
#pragma once

#include <cstddef>

#include "broadloom/setup/run_sizes.h"

namespace broadloom {

// As MemoryPlan::passing has it; 0 for the host's processor.
std::size_t passing_bytes(const RunSizes& run, VecEnv& envs);

}  // namespace broadloom
