// Observations as kernels find them in memory: row after row of float32 or of uint8, or of stacks
// whose frames are kept once, as the host's (rollout/observations.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "broadloom/core/host_device.h"
#include "cuda/env/frame_stacks.h"

namespace broadloom::cuda {

struct DeviceObservations {
  float* floats;           // null: they are bytes
  std::uint8_t* bytes;     // null: they are floats
  float full_scale;        // what networks read bytes divided by
  FramesOnce frames = {};  // of a block's stacks

  BROADLOOM_HD static DeviceObservations of(float* rows, float) { return {rows, nullptr, 1.0f}; }
  BROADLOOM_HD static DeviceObservations of(std::uint8_t* rows, float full_scale) {
    return {nullptr, rows, full_scale};
  }

  // Number i of rows that are whole, as networks read it.
  BROADLOOM_HD float read(std::size_t i) const {
    return bytes == nullptr ? floats[i] : static_cast<float>(bytes[i]) / full_scale;
  }
  // Number i of a row of a block, which has `width` numbers.
  BROADLOOM_HD float read(std::size_t row, int i, int width) const {
    return scaled(raw(row, i, width), i);
  }
  // The same in two steps, for who has many reads under way.
  BROADLOOM_HD float raw(std::size_t row, int i, int width) const {
    std::size_t at = row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i);
    if (frames.is_there() && !frames.find(row, i, width, at)) return 0.0f;
    return bytes == nullptr ? floats[at] : static_cast<float>(bytes[at]);
  }
  BROADLOOM_HD float scaled(float raw, int) const {
    return full_scale == 1.0f ? raw : raw / full_scale;
  }
  // And to be kept there.
  template <class Number>
  BROADLOOM_HD void keep(std::size_t row, int i, int width, Number number) const {
    if constexpr (std::is_same_v<Number, std::uint8_t>) {
      if (frames.is_there()) return frames.keep(row, i, width, number, bytes);
    }
    as<Number>()[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] = number;
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
  // f(rows), of float or of std::uint8_t. Where there are none at all, of float.
  template <class F>
  void visit(F&& f) const {
    if (bytes == nullptr) {
      f(floats);
    } else {
      f(bytes);
    }
  }
  // Those that begin so many numbers later, of rows that are whole.
  BROADLOOM_HD DeviceObservations from(std::size_t numbers) const {
    return {bytes == nullptr ? floats + numbers : nullptr,
            bytes == nullptr ? nullptr : bytes + numbers, full_scale};
  }
};

}  // namespace broadloom::cuda
