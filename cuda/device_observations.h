// Observations as kernels find them in memory: row after row of float32 or of uint8, as the host's
// (rollout/observations.h) where those are stored whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/core/host_device.h"

namespace broadloom::cuda {

struct DeviceObservations {
  float* floats;        // null: they are bytes
  std::uint8_t* bytes;  // null: they are floats
  float full_scale;     // what networks read bytes divided by

  BROADLOOM_HD static DeviceObservations of(float* rows, float) { return {rows, nullptr, 1.0f}; }
  BROADLOOM_HD static DeviceObservations of(std::uint8_t* rows, float full_scale) {
    return {nullptr, rows, full_scale};
  }

  // Number i as networks read it.
  BROADLOOM_HD float read(std::size_t i) const {
    return bytes == nullptr ? floats[i] : static_cast<float>(bytes[i]) / full_scale;
  }
  // Number: float or std::uint8_t, the one that they are of.
  template <class Number>
  BROADLOOM_HD Number* as() const {
    if constexpr (std::is_same_v<Number, float>) {
      return floats;
    } else {
      return bytes;
    }
  }
  // Those that begin so many numbers later.
  BROADLOOM_HD DeviceObservations from(std::size_t numbers) const {
    return {bytes == nullptr ? floats + numbers : nullptr,
            bytes == nullptr ? nullptr : bytes + numbers, full_scale};
  }
};

}  // namespace broadloom::cuda
