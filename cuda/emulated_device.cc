#include "cuda/emulated_device.h"

#include "cuda/device_learning.h"

namespace broadloom::cuda {

Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order,
                                                     const HostLimits& limits) {
  BROADLOOM_TRY(check_device(setup));
  return make_device_on(std::make_unique<HostSide>(order, limits), setup);
}

}  // namespace broadloom::cuda
