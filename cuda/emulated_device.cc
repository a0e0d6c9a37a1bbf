#include "cuda/emulated_device.h"

#include <memory>

#include "cuda/device_learning.h"
#include "cuda/host_side.h"

namespace broadloom::cuda {

Result<std::unique_ptr<Device>> make_emulated_device(const DeviceSetup& setup, FiberOrder order,
                                                     std::size_t free_bytes,
                                                     std::size_t shared_bytes) {
  return make_device_on(std::make_unique<HostSide>(order, free_bytes, shared_bytes), setup);
}

}  // namespace broadloom::cuda
