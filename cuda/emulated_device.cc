#include "cuda/emulated_device.h"

#include <memory>

#include "cuda/device_learning.h"
#include "cuda/host_side.h"

namespace broadloom::cuda {

Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order) {
  return make_device_on(std::make_unique<HostSide>(order), setup);
}

}  // namespace broadloom::cuda
