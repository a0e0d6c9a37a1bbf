#include "broadloom/env/frames.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace broadloom {
namespace {

std::size_t pixel_numbers(const FrameLayout& layout) {
  return static_cast<std::size_t>(layout.count) * static_cast<std::size_t>(layout.channels);
}

// A frame's numbers to or from its place in each pixel of a stack.
template <class Copy>
void over_pixels(const FrameLayout& layout, std::size_t size, int number, Copy&& copy) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t step = pixel_numbers(layout);
  std::size_t in_frame = 0;
  for (std::size_t at = channels * static_cast<std::size_t>(number); at < size; at += step) {
    for (std::size_t c = 0; c < channels; ++c) copy(at + c, in_frame++);
  }
}

void set_frame(const FrameLayout& layout, std::size_t size, int number, const std::uint8_t* frame,
               std::uint8_t* stack) {
  over_pixels(layout, size, number,
              [&](std::size_t at, std::size_t from) { stack[at] = frame[from]; });
}

// Frames of one channel, as those of games in grey are; K of them known to the compiler, which
// makes vectors of that.
template <int K>
void interleave(const std::uint8_t* const* frames, std::size_t first, std::size_t count,
                std::uint8_t* __restrict out) {
  std::array<const std::uint8_t*, K> from;
  for (int k = 0; k < K; ++k) from[k] = frames[k] + first;
  for (std::size_t i = 0; i < count; ++i) {
    for (int k = 0; k < K; ++k) out[i * K + k] = from[k][i];
  }
}

bool all_there(const FrameLayout& layout, const std::uint8_t* const* frames) {
  return std::none_of(frames, frames + layout.count, [](const auto* f) { return f == nullptr; });
}

}  // namespace

void copy_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* stack, int number,
                std::uint8_t* frame) {
  over_pixels(layout, size, number,
              [&](std::size_t at, std::size_t to) { frame[to] = stack[at]; });
}

// One move for all pixels: what lies C numbers on is the same pixel's next frame, but for the
// newest, which is written over.
void push_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                std::uint8_t* stack) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  std::memmove(stack, stack + channels, size - channels);
  set_frame(layout, size, layout.count - 1, frame, stack);
}

void begin_stack(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                 std::uint8_t* stack) {
  if (layout.padding == FramePadding::kZero) {
    std::fill_n(stack, size, std::uint8_t{0});
    return set_frame(layout, size, layout.count - 1, frame, stack);
  }
  for (int k = 0; k < layout.count; ++k) set_frame(layout, size, k, frame, stack);
}

void stack_pixels(const FrameLayout& layout, const std::uint8_t* const* frames, std::size_t first,
                  std::size_t count, std::uint8_t* out) {
  if (layout.channels == 1 && all_there(layout, frames)) {
    if (layout.count == 2) return interleave<2>(frames, first, count, out);
    if (layout.count == 3) return interleave<3>(frames, first, count, out);
    if (layout.count == 4) return interleave<4>(frames, first, count, out);
  }
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  for (std::size_t i = first; i < first + count; ++i) {
    for (int k = 0; k < layout.count; ++k, out += channels) {
      for (std::size_t c = 0; c < channels; ++c) {
        out[c] = frames[k] == nullptr ? std::uint8_t{0} : frames[k][i * channels + c];
      }
    }
  }
}

}  // namespace broadloom
