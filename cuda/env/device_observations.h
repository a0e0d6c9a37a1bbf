// Observations in the device's memory: rows of float32 or uint8, or stacks whose frames are stored
// once, as on the host (rollout/observations.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/core/host_device.h"
#include "cuda/env/frame_stacks.h"

namespace broadloom::cuda {

struct DeviceObservations {
  float* floats;           // null: the rows are bytes
  std::uint8_t* bytes;     // null: the rows are floats
  float full_scale;        // networks read bytes divided by this
  FramesOnce frames = {};  // layout of a block's frame stacks

  BROADLOOM_HD static DeviceObservations make(float* rows, float) { return {rows, nullptr, 1.0f}; }
  BROADLOOM_HD static DeviceObservations make(std::uint8_t* rows, float full_scale) {
    return {nullptr, rows, full_scale};
  }

  // Number i of rows without frame stacks, as networks read it.
  BROADLOOM_HD float read(std::size_t i) const {
    return bytes == nullptr ? floats[i] : static_cast<float>(bytes[i]) / full_scale;
  }
  // Number i of a block's row of `width` numbers.
  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    return scaled(raw(row, i, width), i);
  }
  // The same in two steps, for kernels that keep many reads in flight.
  BROADLOOM_HD float raw(std::size_t row, int i, int width) const {
    std::size_t index = row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i);
    if (frames.is_there() && !frames.find(row, i, width, index)) return 0.0f;
    return bytes == nullptr ? floats[index] : static_cast<float>(bytes[index]);
  }
  BROADLOOM_HD float scaled(float raw, int) const {
    return full_scale == 1.0f ? raw : raw / full_scale;
  }
  // Stores number i of a row.
  template <class Number>
  BROADLOOM_HD void keep(std::size_t row, int i, int width, Number number) const {
    if constexpr (std::is_same_v<Number, std::uint8_t>) {
      if (frames.is_there()) return frames.keep(row, i, width, number, bytes);
    }
    as<Number>()[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] = number;
  }
  // Number: float or std::uint8_t, the type of the rows.
  template <class Number>
  BROADLOOM_HD Number* as() const {
    if constexpr (std::is_same_v<Number, float>) {
      return floats;
    } else {
      return bytes;
    }
  }
  // Calls f(rows) with float* or std::uint8_t*; float* if there are none.
  template <class F>
  BROADLOOM_HD void visit(F&& f) const {
    if (bytes == nullptr) {
      f(floats);
    } else {
      f(bytes);
    }
  }
  // The rows that begin `numbers` later; not for frame stacks.
  BROADLOOM_HD DeviceObservations offset_by(std::size_t numbers) const {
    return {bytes == nullptr ? floats + numbers : nullptr,
            bytes == nullptr ? nullptr : bytes + numbers, full_scale};
  }
};

}  // namespace broadloom::cuda
