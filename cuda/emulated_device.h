// A device that is emulated on the host, for trainers of tests (train/device.h).
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"
#include "cuda/emulated_block.h"

namespace broadloom::cuda {

// kInvalidConfig where kernels cannot do what the config asks. order: of a block's threads.
Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order);

}  // namespace broadloom::cuda
