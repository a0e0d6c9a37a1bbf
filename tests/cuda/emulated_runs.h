// `device = cuda` for the tests of this program: emulated, in an order of threads and with as much
// memory as a test likes. Where the program has CUDA and BROADLOOM_TEST_DEVICE is `real`, it is the
// one that CUDA finds, which the same tests then hold to the same bits; where it is `lost`, that
// one, too, for the test that loses it, after which the process has none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "cuda/emulated_device.h"
#if BROADLOOM_WITH_CUDA
#include "cuda/cuda_device.h"
#endif

namespace broadloom::cuda {

// Of devices made from now on.
struct Emulation {
  FiberOrder order = FiberOrder::kForward;
  HostLimits limits;
};
inline Emulation emulation;

// Shared memory with which tiles lie otherwise: with every order another one. Bodies of 64-64 go
// layer by layer in 48 KB, and not in 120; those of 128-96 in both, and not in 227.
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

// A name keeps the first device that it gets, so all suites have this one.
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
