// What a config asks that kernels cannot do yet: said before a run begins, since nothing of it may
// fall back to the processor unseen.
#pragma once

#include <cstddef>

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"

namespace broadloom::cuda {

// kInvalidConfig with what was got and what to do.
Status check_device(const DeviceSetup& setup);

// Likewise where it takes more bytes than are free on the device.
Status check_device_memory(const DeviceSetup& setup, std::size_t bytes, std::size_t free);

// Likewise with precision = tf32 where the device has no tensor cores for it, or a block of threads
// too little shared memory for the network.
Status check_tensor_cores(const DeviceSetup& setup, bool are_there, bool fits);

// Of environments that are none of cuda/env/list.h.
Status unknown_environments(const DeviceSetup& setup);

}  // namespace broadloom::cuda
