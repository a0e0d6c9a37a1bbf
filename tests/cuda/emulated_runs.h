// `device = cuda` for the tests of this program. It is emulated, with a test's own order of threads
// and memory size. If the program has CUDA and BROADLOOM_TEST_DEVICE is `real`, it is the device
// that CUDA finds, and the same tests require the same bits. With `lost`, it is that device for the
// test that loses it; afterwards the process has none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "cuda/emulated_device.h"
#if BROADLOOM_WITH_CUDA
#include "cuda/cuda_device.h"
#endif

namespace broadloom::cuda {

// Settings of devices made from now on.
struct Emulation {
  FiberOrder order = FiberOrder::kForward;
  HostLimits limits;
};
inline Emulation emulation;

// A different size of shared memory for each order, which changes the layout of tiles. Bodies of
// 64-64 go layer by layer in 48 KB, but not in 120. Bodies of 128-96 do in both, but not in 227.
inline std::size_t shared_bytes_with(FiberOrder order) {
  if (order == FiberOrder::kReversed) return kUsualSharedBytes;
  return (order == FiberOrder::kForward ? 227 : 120) * 1024;
}
inline void emulate_as(FiberOrder order) {
  emulation.order = order;
  emulation.limits.shared_bytes = shared_bytes_with(order);
}

inline bool asked_for(std::string_view device) {
  const char* const asked = std::getenv("BROADLOOM_TEST_DEVICE");
  return asked != nullptr && asked == device;
}
inline bool device_is_real() {
#if BROADLOOM_WITH_CUDA
  return asked_for("real") || asked_for("lost");
#else
  return false;
#endif
}

// A name keeps its first device, so all suites use this one.
inline void register_tested_device() {
  register_device("cuda", [](const DeviceSetup& setup) {
#if BROADLOOM_WITH_CUDA
    if (device_is_real()) return make_cuda_device(setup);
#endif
    return make_emulated_device(setup, emulation.order, emulation.limits);
  });
  emulation = {};
}

}  // namespace broadloom::cuda
