// Compiles every kernel for every environment for the device, and makes the device that trains with
// them.
#include "cuda/cuda_device.h"
#include "cuda/device_learning.h"
#include "cuda/sides/device_side.h"

namespace broadloom::cuda {

Result<std::unique_ptr<Device>> make_cuda_device(const DeviceSetup& setup) {
  BROADLOOM_TRY(check_device(setup));
  auto side = std::make_unique<DeviceSide>(setup.ranks.size() > 1 ? setup.ranks.place_here() : -1);
  if (side->status().ok()) return make_device_on(std::move(side), setup);
  return invalid("device = cuda: " + side->status().message() +
                 ". It takes an NVIDIA GPU with free memory, and its driver (nvidia-smi shows all "
                 "three), or set device = cpu");
}

}  // namespace broadloom::cuda
