// Refuses configs that the kernels do not support. The check comes before a run, because no part of
// a run may fall back to the CPU unnoticed.
#pragma once

#include <cstddef>

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"

namespace broadloom::cuda {

// kInvalidConfig with what was got and what to do.
Status check_device(const DeviceSetup& setup);

// The same if the run needs more bytes than the device has free.
Status check_device_memory(const DeviceSetup& setup, std::size_t bytes, std::size_t free);

// The same for precision = tf32 if the device lacks such tensor cores, or if a block's shared
// memory is too small for the network.
Status check_tensor_cores(const DeviceSetup& setup, bool are_there, bool fits);

// Kernels step the environments of cuda/env/list.h, also with stacked images and most disturbances.
// Simulators may step in the device's memory (env/device_steps.h). The host steps the rest.
enum class SteppedBy { kKernels, kSimulator, kHost };
SteppedBy stepped_by(VecEnv& envs);

}  // namespace broadloom::cuda
