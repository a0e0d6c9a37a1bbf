// Frame stacks on an emulated device, compared with the CPU.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/frames.h"
#include "cuda/env/frame_stacks.h"
#include "tests/cuda/device_trainers.h"
#include "tests/support/release_only.h"

namespace broadloom::cuda {
namespace {

std::vector<std::uint8_t> drawn(std::size_t count, std::uint64_t index) {
  Random random(7, Purpose::kInit, 0, index);
  std::vector<std::uint8_t> numbers(count);
  for (std::uint8_t& number : numbers) number = static_cast<std::uint8_t>(random.bits32());
  return numbers;
}

TEST(DeviceStacks, ArePushedAndBegunAsOnTheHost) {
  for (const FramePadding padding : {FramePadding::kFirst, FramePadding::kZero}) {
    for (const int count : {2, 3, 5}) {
      for (const int channels : {1, 3}) {
        const FrameLayout layout{count, channels, padding};
        const std::size_t frame_size = 6 * static_cast<std::size_t>(channels);
        const std::size_t size = frame_size * static_cast<std::size_t>(count);
        const int width = static_cast<int>(size);
        std::vector<std::uint8_t> host = drawn(size, 1), device = host;
        const std::vector<std::uint8_t> frame = drawn(frame_size, 2);
        push_frame(layout, size, frame.data(), host.data());
        push_on_stack(layout, width, frame.data(), device.data());
        EXPECT_EQ(device, host);
        begin_stack(layout, size, frame.data(), host.data());
        begin_on_stack(layout, width, frame.data(), device.data());
        EXPECT_EQ(device, host);
      }
    }
  }
}

class DeviceFrames : public DeviceTrainer {};

const Options kStacks{{"env.frame_stack", "3"}};
const Options kZeros{{"env.frame_stack", "4"}, {"env.frame_padding", "zero"}};

TEST_F(DeviceFrames, AreTrainedOn) {
  RELEASE_ONLY("AreOlderThanTheBlock reads the same rows");
  for (const FiberOrder each : kOrders) {
    emulate_as(each);
    expect_the_same("MinAtar/Breakout-v1", combine(kTinyMinatar, kStacks));
  }
  expect_the_same("MinAtar/Freeway-v1", combine(kMinatar, kZeros), 2);
  const Options ppo{{"algorithm", "ppo"}, {"encoder", "minatar"}, {"shared_encoder", "true"}};
  expect_the_same("MinAtar/Asterix-v1", combine(combine(kTinyMinatar, kZeros), ppo), 2, false);
}

// No frame occurs twice, so the host stores whole stacks.
TEST_F(DeviceFrames, AreKeptWholeInABlockOfOneStep) {
  expect_the_same("MinAtar/Breakout-v1",
                  combine(combine(kTinyMinatar, kStacks), {{"num_steps", "1"}}), 4);
}

// More frames than steps, in the middle of episodes, with disturbed actions.
TEST_F(DeviceFrames, AreOlderThanTheBlock) {
  expect_the_same("MinAtar/Breakout-v1", combine(kTinyMinatar, {{"env.frame_stack", "6"},
                                                                {"max_episode_steps", "9"},
                                                                {"stagger_starts", "true"},
                                                                {"disturb.action_delay", "1"}}));
}

TEST_F(DeviceFrames, AreSeenByInstruments) {
  const Options watched{{"instruments", "plasticity,coverage"}, {"instrument_every", "2"}};
  expect_the_same("MinAtar/Breakout-v1", combine(combine(kTinyMinatar, kStacks), watched), 2);
}

TEST_F(DeviceFrames, ContinueAfterAResume) {
  RELEASE_ONLY("kernels of other cases, twice");
  expect_same_after_resume("MinAtar/Breakout-v1", combine(kTinyMinatar, kZeros));
}

}  // namespace
}  // namespace broadloom::cuda
