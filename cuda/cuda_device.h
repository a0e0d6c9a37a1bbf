// The CUDA device for trainers (train/device.h), in builds with BROADLOOM_CUDA=ON.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"

namespace broadloom::cuda {

// Returns kInvalidConfig if the kernels do not support the config. The same if CUDA finds no device
// that it can use or that these kernels were compiled for; the message then quotes CUDA.
Result<std::unique_ptr<Device>> make_cuda_device(const DeviceSetup& setup);

}  // namespace broadloom::cuda
