// `device = cuda` for the tests of this program: emulated, in an order of threads and with as much
// memory as a test likes.
#pragma once

#include <cstddef>
#include <limits>

#include "cuda/emulated_device.h"

namespace broadloom::cuda {

// Of devices made from now on.
struct Emulation {
  FiberOrder order = FiberOrder::kForward;
  std::size_t free_bytes = std::numeric_limits<std::size_t>::max();
};
inline Emulation emulation;

// A name keeps the first device that it gets, so all suites have this one.
inline void register_emulated_device() {
  register_device("cuda", [](const DeviceSetup& setup) {
    return make_emulated_device(setup, emulation.order, emulation.free_bytes);
  });
  emulation = {};
}

}  // namespace broadloom::cuda
