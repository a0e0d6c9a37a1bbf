// Stacks of an environment's last frames on the device, with the bits of env/frames.h. Each pixel
// of a stack has the channels of all its frames, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/env/frames.h"

namespace broadloom::cuda {

// The source of number i of a stack.
struct StackPlace {
  int number;    // index of the frame, 0 is the oldest
  int in_frame;  // index within the frame

  BROADLOOM_HD StackPlace(const FrameLayout& layout, int i) {
    const int of_pixel = layout.count * layout.channels;
    const int pixel = i / of_pixel, number_in_pixel = i % of_pixel;
    number = number_in_pixel / layout.channels;
    in_frame = pixel * layout.channels + number_in_pixel % layout.channels;
  }
};

// Number i of the stack after a newer frame is pushed.
BROADLOOM_HD inline std::uint8_t pushed(const FrameLayout& layout, const std::uint8_t* stack,
                                        const std::uint8_t* frame, int i) {
  const StackPlace place(layout, i);
  return place.number < layout.count - 1 ? stack[i + layout.channels] : frame[place.in_frame];
}

// The device's push_frame(). size: numbers of a stack.
BROADLOOM_HD inline void push_on_stack(const FrameLayout& layout, int size,
                                       const std::uint8_t* frame, std::uint8_t* stack) {
  // In place: every read lies beyond the writes so far.
  for (int i = 0; i < size; ++i) stack[i] = pushed(layout, stack, frame, i);
}

// The device's begin_stack().
BROADLOOM_HD inline void begin_on_stack(const FrameLayout& layout, int size,
                                        const std::uint8_t* frame, std::uint8_t* stack) {
  for (int i = 0; i < size; ++i) {
    const StackPlace place(layout, i);
    const bool is_padding =
        layout.padding == FramePadding::kZero && place.number < layout.count - 1;
    stack[i] = is_padding ? std::uint8_t{0} : frame[place.in_frame];
  }
}

// A block's stacks with each frame stored once, in the layout of Observations
// (rollout/observations.h). size: numbers of a stack. N: environments. Row t * N + n belongs to
// step t and environment n.
struct FramesOnce {
  FrameLayout layout;
  int N = 0;
  std::uint8_t* ages = nullptr;  // [T, N] steps since the episode began, at most count - 1; null:
                                 // stacks are stored whole

  BROADLOOM_HD bool is_there() const { return ages != nullptr; }
  BROADLOOM_HD int older() const { return layout.count - 1; }

  // Finds number i of a row among the frames [count - 1 + T, N]. Returns false if it is zero
  // padding.
  BROADLOOM_HD bool find(std::size_t row, int i, int size, std::size_t& index) const {
    const StackPlace place(layout, i);
    const int age = ages[row], back = older() - place.number;
    const bool is_padding = back > age;
    if (is_padding && layout.padding == FramePadding::kZero) return false;
    index = of_frame(row, older() - (is_padding ? age : back), size) +
            static_cast<std::size_t>(place.in_frame);
    return true;
  }

  // Stores number i of a row's stack: all frames at step 0, later only the newest.
  BROADLOOM_HD void keep(std::size_t row, int i, int size, std::uint8_t number,
                         std::uint8_t* frames) const {
    const StackPlace place(layout, i);
    if (place.number < older() && row >= static_cast<std::size_t>(N)) return;
    frames[of_frame(row, place.number, size) + static_cast<std::size_t>(place.in_frame)] = number;
  }
  // begins: whether the row begins an episode.
  BROADLOOM_HD void keep_age(std::size_t row, bool begins) const {
    if (row < static_cast<std::size_t>(N)) {
      ages[row] = static_cast<std::uint8_t>(older());
      return;
    }
    const int next = ages[row - static_cast<std::size_t>(N)] + 1;
    ages[row] = static_cast<std::uint8_t>(begins ? 0 : next < older() ? next : older());
  }

 private:
  BROADLOOM_HD std::size_t of_frame(std::size_t row, int number, int size) const {
    return (row + static_cast<std::size_t>(number) * static_cast<std::size_t>(N)) *
           static_cast<std::size_t>(size / layout.count);
  }
};

}  // namespace broadloom::cuda
