// What a config asks that kernels cannot do yet: said before a run begins, since nothing of it may
// fall back to the processor unseen.
#pragma once

#include "broadloom/core/status.h"
#include "broadloom/train/device.h"

namespace broadloom::cuda {

// kInvalidConfig with what was got and what to do.
Status check_device(const DeviceSetup& setup);

// Of environments that are none of env_list.h.
Status unknown_environments(const DeviceSetup& setup);

}  // namespace broadloom::cuda
