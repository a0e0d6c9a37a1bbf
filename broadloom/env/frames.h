// How the last k images of an environment, its frames, lie in one observation: a stack. The one
// place that knows; who makes stacks, stores them and checks them asks here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom {

// What stands for the frames before an episode's first.
enum class FramePadding {
  kFirst,  // the first frame, as often as it takes: Gymnasium's FrameStackObservation, EnvPool
  kZero,   // frames of zeros: the Arcade Learning Environment's AtariVectorEnv, Stable-Baselines3
};

inline constexpr int kMostFrames = 64;
inline constexpr int kMostPixelNumbers = 4096;  // of one pixel of a stack, over all its frames

// Each pixel of a stack has the channels of all its frames, oldest first: a stack of frames
// [H, W, C] is [H, W, k C]. Without frames, count is 1 and nothing else is said.
struct FrameLayout {
  int count = 1;     // k, at most kMostFrames
  int channels = 0;  // C of each
  FramePadding padding = FramePadding::kFirst;

  bool operator==(const FrameLayout&) const = default;
};

// Below, a stack has `size` numbers and a frame size / count. O(size) each.

// Frame `number` of a stack, 0 being the oldest.
void copy_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* stack, int number,
                std::uint8_t* frame);
// The oldest frame leaves the stack, and this one is its newest.
void push_frame(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                std::uint8_t* stack);
// The stack that an episode begins with, of its first frame.
void begin_stack(const FrameLayout& layout, std::size_t size, const std::uint8_t* frame,
                 std::uint8_t* stack);
// Pixels [first, first + count) of the stack of these frames, which are [k], oldest first; null is
// a frame of zeros. out: [count, k C], of at most kMostPixelNumbers
void stack_pixels(const FrameLayout& layout, const std::uint8_t* const* frames, std::size_t first,
                  std::size_t count, std::uint8_t* out);

}  // namespace broadloom
