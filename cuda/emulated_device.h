// A device that is emulated on the host, for trainers of tests (train/device.h).
#pragma once

#include <memory>

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"
#include "cuda/sides/host_side.h"

namespace broadloom::cuda {

// kInvalidConfig where kernels cannot do what the config asks, or where it takes more than there
// is. order: of a block's threads.
Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order,
                                                     const HostLimits& limits = {});

}  // namespace broadloom::cuda
