// A device that is emulated on the host, for trainers of tests (train/device.h).
#pragma once

#include <cstddef>
#include <limits>

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"
#include "cuda/emulated_block.h"

namespace broadloom::cuda {

// kInvalidConfig where kernels cannot do what the config asks, or where it takes more than
// free_bytes. order: of a block's threads. shared_bytes: of memory that they share.
Result<std::unique_ptr<Device>> make_emulated_device(
    const DeviceSetup& setup, FiberOrder order,
    std::size_t free_bytes = std::numeric_limits<std::size_t>::max(),
    std::size_t shared_bytes = kUsualSharedBytes);

}  // namespace broadloom::cuda
