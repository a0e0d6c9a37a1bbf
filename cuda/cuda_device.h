// The device that CUDA finds, for trainers (train/device.h). In builds with BROADLOOM_CUDA=ON.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"

namespace broadloom::cuda {

// kInvalidConfig where kernels cannot do what the config asks, and where CUDA finds no device it
// can use or that these kernels were compiled for, in its own words.
Result<std::unique_ptr<Device>> make_cuda_device(const DeviceSetup& setup);

}  // namespace broadloom::cuda
