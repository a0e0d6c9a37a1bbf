// A device that the host emulates, for tests of trainers (train/device.h).
#pragma once

#include <memory>

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"
#include "cuda/sides/host_side.h"

namespace broadloom::cuda {

// kInvalidConfig if the kernels do not support the config, or if it exceeds the limits. order: of a
// block's threads.
Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order,
                                                     const HostLimits& limits = {});

}  // namespace broadloom::cuda
