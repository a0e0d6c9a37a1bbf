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

// A frame of zeros, long enough for one call of stack_pixels().
constexpr std::array<std::uint8_t, kMostPixelNumbers> kZeros{};

// A strided copy of pixels. Steps are in bytes.
struct PixelCopies {
  std::size_t pixels, channels;
  const std::uint8_t* source;
  std::size_t source_step;
  std::uint8_t* target;
  std::size_t target_step;
};

// C: number of channels if known at compile time, so that one move copies a pixel; 0: any.
template <int C>
void copy_pixels(PixelCopies copies) {
  const std::size_t numbers = C > 0 ? static_cast<std::size_t>(C) : copies.channels;
  const std::uint8_t* source = copies.source;
  std::uint8_t* target = copies.target;
  for (std::size_t i = 0; i < copies.pixels; ++i) {
    std::memcpy(target + i * copies.target_step, source + i * copies.source_step, numbers);
  }
}

void copy_pixels(const PixelCopies& copies) {
  switch (copies.channels) {
    case 1:
      return copy_pixels<1>(copies);
    case 2:
      return copy_pixels<2>(copies);
    case 3:
      return copy_pixels<3>(copies);
    case 4:
      return copy_pixels<4>(copies);
    case 6:
      return copy_pixels<6>(copies);
    case 7:
      return copy_pixels<7>(copies);
    case 10:
      return copy_pixels<10>(copies);
    default:
      return copy_pixels<0>(copies);
  }
}

void set_frame(const FrameLayout& layout, std::size_t size, int number, const std::uint8_t* frame,
               std::uint8_t* stack) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = pixel_numbers(layout);
  copy_pixels({size / pixel, channels, frame, channels,
               stack + channels * static_cast<std::size_t>(number), pixel});
}

// Interleaves K frames of one channel, such as grey images of games. With K known at compile time,
// the compiler makes vector code.
template <int K>
void interleave(const std::uint8_t* const* frames, std::size_t count,
                std::uint8_t* __restrict out) {
  std::array<const std::uint8_t*, K> sources;
  for (int k = 0; k < K; ++k) sources[k] = frames[k];
  for (std::size_t i = 0; i < count; ++i) {
    for (int k = 0; k < K; ++k) out[i * K + k] = sources[k][i];
  }
}

}  // namespace

void copy_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* stack, int number,
                std::uint8_t* frame) {
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  const std::size_t pixel = pixel_numbers(layout);
  copy_pixels({size / pixel, channels, stack + channels * static_cast<std::size_t>(number), pixel,
               frame, channels});
}

// One move shifts all pixels. The value C numbers later is the same pixel's next frame. The newest
// frame's numbers are then overwritten.
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
  const std::size_t channels = static_cast<std::size_t>(layout.channels);
  assert(count * pixel_numbers(layout) <= kZeros.size());
  std::array<const std::uint8_t*, kMostFrames> sources;
  for (int k = 0; k < layout.count; ++k) {
    sources[k] = frames[k] == nullptr ? kZeros.data() : frames[k] + first * channels;
  }
  if (channels == 1 && layout.count == 2) return interleave<2>(sources.data(), count, out);
  if (channels == 1 && layout.count == 3) return interleave<3>(sources.data(), count, out);
  if (channels == 1 && layout.count == 4) return interleave<4>(sources.data(), count, out);
  for (int k = 0; k < layout.count; ++k, out += channels) {
    copy_pixels({count, channels, sources[k], channels, out, pixel_numbers(layout)});
  }
}

}  // namespace broadloom
