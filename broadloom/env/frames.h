// Memory layout of a stack: the last k observations (frames) of an environment in one. All code
// that makes, stores or checks stacks uses these functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom {

// Fill for the frames before an episode's first one.
enum class FramePadding {
  kFirst,  // repeat the first frame: Gymnasium's FrameStackObservation, EnvPool
  kZero,   // frames of zeros: the Arcade Learning Environment's AtariVectorEnv, Stable-Baselines3
};

inline constexpr int kMostFrames = 64;
inline constexpr int kMostPixelNumbers = 4096;  // per pixel of a stack, over all frames

// Each pixel of a stack has the channels of all its frames, oldest first. A stack of k frames
// [H, W, C] is [H, W, k C]; a frame [D] is one pixel. If count is 1, the rest has no meaning.
struct FrameLayout {
  int count = 1;     // k, at most kMostFrames
  int channels = 0;  // C of each frame
  FramePadding padding = FramePadding::kFirst;

  bool operator==(const FrameLayout&) const = default;
};

// In the functions below, a stack has `size` numbers and a frame size / count. Each takes O(size).

// Copies frame `number` of a stack; 0 is the oldest.
void copy_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* stack, int number,
                std::uint8_t* frame);
// Removes the oldest frame of a stack and appends `frame`.
void push_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                std::uint8_t* stack);
// Fills the stack at an episode's start from its first frame.
void begin_stack(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                 std::uint8_t* stack);
// Writes pixels [first, first + count) of the stack of `frames`. frames: [k], oldest first; null is
// a frame of zeros. out: [count, k C], at most kMostPixelNumbers numbers.
void stack_pixels(const FrameLayout& layout, const std::uint8_t* const* frames, std::size_t first,
                  std::size_t count, std::uint8_t* out);

}  // namespace broadloom
